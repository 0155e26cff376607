"""Whether a command may concern the guard: one cheap pass over its words, so that all other commands skip the checks.

A command is near if it names the guard, the gateway or one of their files; ends processes; runs an unknown program with a
word that approves or changes something; or has a path that can lead to a protected place. If in doubt, it is near.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import proc_links, protected_paths
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.landings import is_open, leaves_its_folder
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.host import file_names, metrics_path
from toolguard_engine.layers.self_protection import dashboard_requests, sqlite_shell
from toolguard_engine.layers.self_protection.installed_gateway import module_folders
from toolguard_engine.layers.self_protection.own_command_line import CHANGES
from toolguard_engine.layers.self_protection.scene import (
    below,
    entered,
    holds_ours,
    is_interpreter,
    place_of,
    possible_place,
    resolved,
    texts,
)
from toolguard_engine.model.call import Host
from toolguard_engine.model.text_answers import SHORTEST, kept_by_text

_SPLIT = lazy_re.compile(r"[\s'\"=,:;|&()<>`]+")
_JOINS = lazy_re.compile(r"['\"]\s*+[+.]?\s*+['\"]")
_GLOBS = frozenset("*?[")
_BLANKS = (UNKNOWN, "$", "*", "?", "[")
_JOINERS = ("(", "+", "'.'", '"."')
"""Code that builds a name out of pieces, or calls a function, contains one of these."""

_HIDES = ("64", "hex", "::-1", "rev", "chr", "rot")
"""Words in code that decodes texts."""

_WALKS = (
    "walk", "glob", "readdir", "scandir", "listdir", "iterdir", "find", "dir", "tree", "archive", "cpsync", "cp_r",
    "<..", ".add", "cp(", "rcopy", "dircopy", "rmove",
)  # fmt: skip
"""Words in code that walks or copies folders."""

_ABOVE = ("~", "home", "'/'", '"/"', "'..", '"..', "<..")
"""Words in code that names a folder above the agent's own."""

_TOKENS = (f"{metrics_path.TOKEN}'", f'{metrics_path.TOKEN}"')
"""Texts in code that searches for the dashboard's token by its file ending."""

_FOLDERS = ("$HOME", "${HOME", "$PWD", "${PWD")
"""The home folder and the working directory, inside a word."""

_DISTINCTIVE = 8
"""Characters of a folder's name from which on any text that contains it is near. A shorter one, such as `data`, is part of
many words; it counts where it stands as a whole."""

_MAX_BASES = 64
_MAX_PATHS = 400
_MAX_PLACES = 800
"""A command with more folders, paths, or paths from each folder to resolve is near for that alone."""


class _Signs(Struct, frozen=True):
    """`words`: any of them in a text makes it near, one of `short` as a whole; `starts`: beginnings of paths that
    may lead to a protected place; `firsts`, `states`: the names after `/` and `~/` on the way there."""

    words: tuple[str, ...]
    short: tuple[tuple[str, re.Pattern[str]], ...]
    starts: tuple[str, ...]
    firsts: frozenset[str]
    states: frozenset[str]
    workspace: str
    home: str


@lru_cache(maxsize=8)
def _signs(host: Host) -> _Signs:
    protected = protected_paths.protected_on(host)
    common = (
        "claw", "toolguard", ".open", "kill", "fuser", "systemctl", "gdb", "lldb", "strace", "ltrace", "gcore", "py-spy",
        "rbspy", "perf", "reptyr", "bpftrace", "prlimit", "inspect", "nsenter", "loginctl", "cgroup.", "freezer.state",
        "launchctl", "shell-snapshots", "update-activation", "updateactivation", "setenvironment", "tmux", "locate",
        *map(str.lower, host.code), *module_folders(host), *file_names.DISTINCTIVE,
    )  # fmt: skip
    folders = (path.rpartition("/")[2].lower() for path in protected.above)
    links = (link.rpartition("/")[2].lower() for link, _ in host.links)
    names = {*protected.words, *folders, *links}
    short = sorted(name for name in names if len(name) < _DISTINCTIVE)
    own = (*dashboard_requests.signs(host), *sorted(names.difference(short)))
    words = (*common, *(word for word in own if not any(sign in word for sign in common)))
    firsts = frozenset(parts[0] for parts in (*protected.roots, *protected.places) if parts)
    firsts |= {"System", "private", *(link.split("/")[1] for link, _ in host.links if link.startswith("/"))}
    starts = ("~", "..", *_FOLDERS, "\n/\n", "/*", "/?", "/[", "/proc/", *sorted(f"/{first}" for first in firsts))
    starts = tuple(dict.fromkeys(map(str.lower, starts)))
    home = tuple(part for part in protected.home.split("/") if part)
    below = {parts[len(home)] for parts in (*protected.roots, *protected.places) if parts[: len(home)] == home != parts}
    states = frozenset({*below, *(tail[0] for tail in protected.tails)})
    whole = tuple((name, _whole(re.escape(name))) for name in short)
    firsts |= {"", ".", "..", "proc"}
    firsts, states = frozenset(map(str.lower, firsts)), frozenset(map(str.lower, states))
    return _Signs(words, whole, starts, firsts, states, protected.state + "/workspace", protected.home.lower())


def _whole(name: str) -> re.Pattern[str]:
    """A name that is no part of a longer one. It begins with the name itself, which `re` searches for fast."""
    return re.compile(rf"{name}(?:(?<![\w-]{name})|(?<=%2f{name}))(?![\w-])")


class _InputMarks(NamedTuple):
    """What `is_near` looks for in one text."""

    names_ours: bool
    joins: bool
    has_blanks: bool
    starts: frozenset[str]


def is_near(runs: tuple[ProgramRun, ...], host: Host, folder: str) -> bool:
    signs = _signs(host)
    words, inputs = _words(runs)
    marks = [_marks(text, host) for text in inputs]
    text = "\n".join(words)
    lower = text.lower() if text.isascii() else "\n".join(map(_plain, words))
    if _names_ours(lower, signs) or (marks and any(mark.names_ours for mark in marks)):
        return True
    if _moves(runs, host, folder):
        return True
    for run in runs:
        if is_open(run) or leaves_its_folder(run):
            return True
    joins = any(map(text.__contains__, _JOINERS)) or (marks and any(mark.joins for mark in marks))
    if joins and any(_code_is_near(run, host) for run in runs):
        return True
    has_blanks = any(map(text.__contains__, _BLANKS)) or (marks and any(mark.has_blanks for mark in marks))
    if has_blanks and any(_hides(run.name) and not CHANGES.isdisjoint(run.argv) for run in runs):
        return True
    if not marks and "/" not in lower and "~" not in lower and "$" not in lower and ".." not in lower:
        return False  # none of `starts`
    bases: tuple[str, ...] = ()
    in_inputs = frozenset[str]().union(*[mark.starts for mark in marks])
    for start in signs.starts:
        if start in lower or start in in_inputs:
            bases = bases or _bases(runs, folder, host)
            if len(bases) > _MAX_BASES or _leads(start, [*words, *inputs], signs, host, bases):
                return True
    return False


@kept_by_text
def _marks(text: str, host: Host) -> _InputMarks:
    lower = f"\n{_plain(text)}\n"
    starts = frozenset(start for start in _signs(host).starts if start in lower)
    joins, has_blanks = (any(map(text.__contains__, signs)) for signs in (_JOINERS, _BLANKS))
    return _InputMarks(names_ours(lower, host), joins, has_blanks, starts)


def _plain(word: str) -> str:
    """The text in small letters and without look-alikes; most files have none of these."""
    return word.lower() if word.isascii() else protected_paths.plain(word)


def names_ours(lower: str, host: Host) -> bool:
    """Whether a text in small letters has one of the names that concern the guard."""
    return _names_ours(lower, _signs(host))


def _names_ours(lower: str, signs: _Signs) -> bool:
    if any(map(lower.__contains__, signs.words)):
        return True
    for name, whole in signs.short:  # noqa: SIM110 - a generator takes twice as long
        if name in lower and whole.search(lower):
            return True
    return False


def _bases(runs: tuple[ProgramRun, ...], folder: str, host: Host) -> tuple[str, ...]:
    """The folders that relative paths may start from: that of the call, and those that the command changes to."""
    cwds = dict.fromkeys(["", *(run.cwd for run in runs)])
    folders = [_folder(cwd, folder, host) for cwd in cwds]
    if any(UNKNOWN in cwd for cwd in cwds):
        folders += below(folders[0])
    folders += entered(runs, host, folders[0])
    return tuple(dict.fromkeys(folders))


def _words(runs: tuple[ProgramRun, ...]) -> tuple[list[str], list[str]]:
    """All texts that programs are given, between two empty words; and apart from these, their long inputs."""
    words, inputs = [""], list[str]()
    for run in runs:
        words += run.argv
        if run.redirects:
            words += [redirect.target for redirect in run.redirects]
        if run.assigns:
            words += [value for _, value in run.assigns]
        if run.stdin is not None and run.stdin.text:
            (words if len(run.stdin.text) < SHORTEST else inputs).append(run.stdin.text)
    words.append("")
    return words, inputs


def _moves(runs: tuple[ProgramRun, ...], host: Host, folder: str) -> bool:
    """Whether a program starts in a folder that is protected or holds a protected place."""
    cwd = ""
    for run in runs:
        if run.cwd != cwd:
            cwd = run.cwd
            if _is_inside(cwd, folder, host):
                return True
    return bool(folder) and _is_inside("", folder, host)


def _hides(name: str) -> bool:
    """Whether the name of a program has an unknown part."""
    return not name.isalnum() and any(sign in name for sign in _BLANKS)


def _code_is_near(run: ProgramRun, host: Host) -> bool:
    """Whether code builds or may hide one of the guard's names, or a database shell opens other files."""
    queries = run.name in sqlite_shell.SHELLS
    if not queries and not is_interpreter(run.name):
        return False
    return _text_is_near("\n".join([*run.argv, *texts(run)]), host, queries)


@kept_by_text
def _text_is_near(code: str, host: Host, queries: bool) -> bool:  # noqa: FBT001 - a key
    signs = _signs(host)
    if (queries and sqlite_shell.opens(code)) or any(sign in code for sign in _TOKENS):
        return True
    plain = _JOINS.sub("", code).lower()
    if any(sign in plain for sign in _WALKS) and any(sign in plain for sign in (*_ABOVE, signs.home)):
        return True
    if any(word in plain for word in signs.words) or any(
        name in plain and whole.search(plain) for name, whole in signs.short
    ):
        return True
    return "(" in plain and any(sign in plain for sign in _HIDES)


@lru_cache(maxsize=256)
def _is_inside(cwd: str, folder: str, host: Host) -> bool:
    """Whether a folder is protected, holds a protected place, or may link to one as in `/proc`."""
    path = _folder(cwd, folder, host)
    return path.startswith("/proc/") or bool(holds_ours(path, host, "/") or place_of(path, host, ("/",)))


def _folder(cwd: str, folder: str, host: Host) -> str:
    start = _signs(host).workspace
    start = resolved(folder, host, start) if folder else start
    return resolved(cwd, host, start) if cwd and UNKNOWN not in cwd else start


def _is_fixed(path: str) -> bool:
    """Whether a path leads to the same place from every folder; `/proc/self/cwd` does not."""
    return path[:1] == "/" and not proc_links.is_through_process(path)


def _leads(start: str, words: list[str], signs: _Signs, host: Host, bases: tuple[str, ...]) -> bool:
    """Whether a word with this beginning is a path to a protected place or to a folder above one."""
    begin = start.strip("\n")
    paths = {path for word in words if _is_one_word(word) and begin in word.lower() for path in _paths(word, signs)}
    if len(paths) > _MAX_PATHS:
        return True
    places = [(path, base) for path in paths for base in (bases[:1] if _is_fixed(path) else bases)]
    if len(places) > _MAX_PLACES:
        return True
    return any(
        place_of(path, host, (base,)) or holds_ours(path, host, base) or possible_place(path, host, (base,))
        for path, base in places
    )


def _is_one_word(word: str) -> bool:
    return " " not in word and "\n" not in word


def _paths(word: str, signs: _Signs) -> list[str]:
    pieces = [word] if word[:1] in "/~." and "=" not in word and ":" not in word else _SPLIT.split(word)
    return [path for piece in pieces if (path := option_parser.path_in(piece)) and _may_lead(path, signs)]


def _may_lead(path: str, signs: _Signs) -> bool:
    """Whether a path can lead to a protected place, judged without resolving it."""
    if "/.." in path or path.startswith("..") or ("$" in path and any(sign in path for sign in _FOLDERS)):
        return True
    first, slash, rest = path.partition("/")
    if not first:
        part = rest.partition("/")[0].lower()
        return part in signs.firsts or not _GLOBS.isdisjoint(part)
    if first[0] != "~":
        return False
    part = rest.partition("/")[0].lower()
    return not slash or part in signs.states or part in (".", "") or not _GLOBS.isdisjoint(part)
