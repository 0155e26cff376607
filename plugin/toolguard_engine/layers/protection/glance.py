"""Whether a command is anywhere near the guard: one cheap pass over its words, so that all other commands cost nothing.

Near is what names the guard, the gateway or one of their files; what ends processes; a program that cannot be known with a
word that answers for the person; a path from which a protected place can be reached. Where in doubt, it is near.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from toolguard_engine import ownfiles, protectedpaths
from toolguard_engine.layers.protection import dashboard, sqlite
from toolguard_engine.layers.protection.commands import CHANGES
from toolguard_engine.layers.protection.scene import holds_ours, is_interpreter, place_of, possible_place, resolved, texts
from toolguard_engine.metrics import place
from toolguard_engine.model import Host
from toolguard_engine.shell.model import UNKNOWN, Run

_SPLIT = re.compile(r"[\s'\"=,:;|&()<>`]+")
_JOINS = re.compile(r"['\"]\s*+[+.]?\s*+['\"]")
_GLOBS = frozenset("*?[")
_BLANKS = (UNKNOWN, "$", "*", "?", "[")
_JOINERS = ("(", "+", "'.'", '"."')
"""One of them is in code that makes a name out of pieces, or calls what does."""

_HIDES = ("64", "hex", "::-1", "rev", "chr", "rot")
"""What code says that takes its texts out of another form."""

_WALKS = (
    "walk",
    "glob",
    "readdir",
    "scandir",
    "listdir",
    "iterdir",
    "find",
    "dir",
    "tree",
    "archive",
    "cpsync",
    "cp_r",
    "<..",
    ".add",
    "cp(",
)
"""What code says that goes through folders."""

_ABOVE = ("~", "home", "'/'", '"/"', "'..", '"..', "<..")
"""How code begins a folder above the agent's own."""

_TOKENS = (f"{place.TOKEN}'", f'{place.TOKEN}"')
"""What code says that looks for the dashboard's token by the end of its name."""

_FOLDERS = ("$HOME", "${HOME", "$PWD", "${PWD")
"""The home folder and the folder that a command starts in, inside a word."""

_MAX_PATHS = 400
"""A command with more paths that have to be looked at is near for that alone."""


@dataclass(frozen=True, slots=True)
class _Signs:
    """`words`: one of them in a text makes it near; `starts`: how a path may begin that leads to a protected place;
    `firsts`, `states`: the names behind `/` and `~/` on the way there."""

    words: tuple[str, ...]
    starts: tuple[str, ...]
    firsts: frozenset[str]
    states: frozenset[str]
    workspace: str
    home: str


@lru_cache(maxsize=8)
def _signs(host: Host) -> _Signs:
    protected = protectedpaths.of(host)
    common = (
        "claw",
        "toolguard",
        ".open",
        "kill",
        "fuser",
        "systemctl",
        "gdb",
        "lldb",
        "strace",
        "ltrace",
        "launchctl",
        "update-activation",
        "locate",
        *map(str.lower, host.code),
        *ownfiles.TELLING,
    )
    folders = (path.rpartition("/")[2].lower() for path in protected.above)
    links = (link.rpartition("/")[2].lower() for link, _ in host.links)
    own = (*protected.words, *dashboard.signs(host), *folders, *links)
    words = (*common, *(word for word in own if not any(sign in word for sign in common)))
    firsts = frozenset(parts[0] for parts in (*protected.roots, *protected.places) if parts)
    firsts |= {"System", "private", *(link.split("/")[1] for link, _ in host.links if link.startswith("/"))}
    starts = ("~", "..", *_FOLDERS, "\n/\n", "/*", "/?", "/[", "/proc/", *sorted(f"/{first}" for first in firsts))
    home = tuple(part for part in protected.home.split("/") if part)
    below = {parts[len(home)] for parts in (*protected.roots, *protected.places) if parts[: len(home)] == home != parts}
    states = frozenset({*below, *(tail[0] for tail in protected.tails)})
    return _Signs(
        words, starts, firsts | {"", ".", "..", "proc"}, states, protected.state + "/workspace", protected.home.lower()
    )


def is_near(runs: tuple[Run, ...], host: Host, folder: str) -> bool:
    signs = _signs(host)
    words = _words(runs)
    text = "\n".join(words)
    lower = text.lower() if text.isascii() else protectedpaths.plain(text)
    for sign in signs.words:
        if sign in lower:
            return True
    if _moves(runs, host, folder):
        return True
    for sign in _JOINERS:
        if sign in text and any(_code_is_near(run, signs) for run in runs):
            return True
    for sign in _BLANKS:
        if sign in text and any(_hides(run.name) and not CHANGES.isdisjoint(run.argv) for run in runs):
            return True
    for start in signs.starts:  # noqa: SIM110 - every call comes here: a generator costs as much as all of this
        if start in text and _leads(start, words, signs, host, folder):
            return True
    return False


def _words(runs: tuple[Run, ...]) -> list[str]:
    """All that programs are given, between two empty words."""
    words = [""]
    for run in runs:
        words += run.argv
        if run.redirects:
            words += [each.target for each in run.redirects]
        if run.assigns:
            words += [value for _, value in run.assigns]
        if run.stdin is not None and run.stdin.text:
            words.append(run.stdin.text)
    words.append("")
    return words


def _moves(runs: tuple[Run, ...], host: Host, folder: str) -> bool:
    """Whether a program starts in a folder that is protected, or holds something that is."""
    cwd = ""
    for run in runs:
        if run.cwd != cwd:
            cwd = run.cwd
            if _is_inside(cwd, folder, host):
                return True
    return bool(folder) and _is_inside("", folder, host)


def _hides(name: str) -> bool:
    """Whether it cannot be known which program it is."""
    return not name.isalnum() and any(sign in name for sign in _BLANKS)


def _code_is_near(run: Run, signs: _Signs) -> bool:
    """Whether code makes a name of ours out of pieces, or may hide one; or a question opens files by any name."""
    asks = run.name in sqlite.SHELLS
    if not asks and not is_interpreter(run.name):
        return False
    code = "\n".join([*run.argv, *texts(run)])
    if (asks and sqlite.opens(code)) or any(sign in code for sign in _TOKENS):
        return True
    plain = _JOINS.sub("", code).lower()
    if any(sign in plain for sign in _WALKS) and any(sign in plain for sign in (*_ABOVE, signs.home)):
        return True
    return any(word in plain for word in signs.words) or ("(" in plain and any(sign in plain for sign in _HIDES))


@lru_cache(maxsize=256)
def _is_inside(cwd: str, folder: str, host: Host) -> bool:
    """Whether a folder is protected, or holds something that is, or links to it as those of a process do."""
    path = _folder(cwd, folder, host)
    return path.startswith("/proc/") or bool(holds_ours(path, host, "/") or place_of(path, host, ("/",)))


def _folder(cwd: str, folder: str, host: Host) -> str:
    start = _signs(host).workspace
    start = resolved(folder, host, start) if folder else start
    return resolved(cwd, host, start) if cwd and UNKNOWN not in cwd else start


def _leads(start: str, words: list[str], signs: _Signs, host: Host, folder: str) -> bool:
    """Whether one of the words with this beginning is a path that leads to a protected place, or to a folder above one."""
    begin = start.strip("\n")
    paths = {path for word in words if begin in word for path in _paths(word, signs)}
    if len(paths) > _MAX_PATHS:
        return True
    if not paths:
        return False
    base = _folder("", folder, host)
    return any(
        place_of(path, host, (base,)) or holds_ours(path, host, base) or possible_place(path, host, (base,))
        for path in paths
    )


def _paths(word: str, signs: _Signs) -> list[str]:
    if " " in word or "\n" in word:
        return []
    pieces = [word] if word[:1] in "/~." and "=" not in word and ":" not in word else _SPLIT.split(word)
    return [path for piece in pieces if (path := _path(piece)) and _may_lead(path, signs)]


def _path(piece: str) -> str:
    """The path in a word; what is attached to an option begins at its first slash or tilde."""
    if piece[:1] != "-":
        return piece
    starts = [at for sign in ("/", "~", "..") if (at := piece.find(sign)) >= 0]
    return piece[min(starts) :] if starts else ""


def _may_lead(path: str, signs: _Signs) -> bool:
    """Without asking for its meaning: whether a path can lead to a protected place."""
    if "/.." in path or path.startswith("..") or ("$" in path and any(sign in path for sign in _FOLDERS)):
        return True
    first, slash, rest = path.partition("/")
    if not first:
        part = rest.partition("/")[0]
        return part in signs.firsts or not _GLOBS.isdisjoint(part)
    if first[0] != "~":
        return False
    part = rest.partition("/")[0]
    return not slash or part in signs.states or part in (".", "") or not _GLOBS.isdisjoint(part)
