"""Nothing changes or copies, as a whole, a folder that holds a protected place: by unpacking, in a backup, or with git.

A backup that leaves the guard's secrets out may run (`leftout`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from toolguard_engine.layers.protection import copies
from toolguard_engine.layers.protection.leftout import TARS, left_out
from toolguard_engine.layers.protection.scene import (
    FILES,
    KEY,
    Finding,
    Scene,
    base,
    holds_ours,
    place_of,
    resolved,
)
from toolguard_engine.shell.model import UNKNOWN, Run

_GIT_CHANGES = frozenset(
    {
        "checkout", "stash", "reset", "clean", "restore", "pull", "merge", "apply", "rebase", "switch", "am", "cherry-pick",
        "revert", "rm", "mv", "init", "filter-branch",
    }
)  # fmt: skip
_GIT_TAKES = frozenset({"add", "stage"})
_GIT_ALL = frozenset({"-A", "--all", "--no-ignore-removal"})
_GIT_VALUED = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace"})
_GIT_PATCHES = frozenset({"apply", "am"})
_UNPACKERS: dict[str, tuple[re.Pattern[str], tuple[str, ...]]] = {
    "unzip": (re.compile(r"(?!-\w*[lptvzZ])|--"), ("-d",)),
    "cpio": (re.compile(r"-\w*i|--extract"), ("-D", "--directory")),
    "bsdcpio": (re.compile(r"-\w*i|--extract"), ("-D", "--directory")),
    **dict.fromkeys(("7z", "7za", "7zz", "unar"), (re.compile(r"x\Z|e\Z"), ("-o",))),
}
"""Programs that unpack: what their first word is then, and the option that names the folder."""

_FETCHES: dict[str, tuple[str, ...]] = {
    "curl": ("--output-dir",), "wget": ("-P", "--directory-prefix"), "aria2c": ("-d", "--dir"),
}  # fmt: skip
"""Programs that fetch a file, and the options that name the folder it comes to."""

_REMOTE_NAME = re.compile(r"-[fsSLkgvJR#i46]*O[fsSLkgvJR#i46]*|--remote-name(?:-all)?")
_OUTPUT = re.compile(r"(?:-[fsSLkgvJR#i46]*o|--output=|--out=)(.*)|--output|--out", re.DOTALL)
_SERVERS_CHOICE = re.compile(
    r"-[fsSLkgvOR#i46]*J[fsSLkgvOR#i46]*|--remote-header-name|--content-disposition|--trust-server-names|-r|-m|--recursive"
    r"|--mirror|-i|--input-file\b.*"
)
"""Options by which the name of what is fetched does not follow from its address."""

_COPIERS = frozenset({"cp", "mv", "rsync", "scp"})
_RECURSIVE = re.compile(r"-\w*[rRa]|--(?:recursive|archive)")
_CONTENTS = re.compile(r"(?:^|/)(?:\.|\*|\.(?:openclaw|clawdbot)/?)$")


def findings(scene: Scene) -> Iterator[Finding]:
    for run in scene.runs:
        if text := _whole(run, scene):
            yield Finding(text)
        if found := _copied(run, scene) or _added(run, scene) or _unpacked(run, scene) or _fetched(run, scene):
            yield found


def _whole(run: Run, scene: Scene) -> str:
    name, rest = run.name, run.argv[1:]
    if name == "git":
        return _git(rest, run, scene)
    if name == "patch":
        return FILES if _is_ours(_value(rest, ("-d", "--directory")) or ".", run, scene) else ""
    if name == "ln":
        return FILES if any(_holds(word, run, scene) for word in _linked(rest)) else ""
    return _moved(run, rest, scene) if name in _COPIERS else ""


def _git(rest: tuple[str, ...], run: Run, scene: Scene) -> str:
    """Whether git changes the files of a state folder, or takes a secret there into a repository."""
    verb, words, where = _git_verb(rest)
    if verb in _GIT_TAKES:
        return KEY if _takes(words, resolved(where, scene.host, scene.here(run)), scene) else ""
    if verb in _GIT_PATCHES and (folder := _value(words, ("--directory",))):
        where = f"{where}/{folder}"
    return FILES if verb in _GIT_CHANGES and _is_ours(where, run, scene) else ""


def _git_verb(rest: tuple[str, ...]) -> tuple[str, tuple[str, ...], str]:
    """The command of git, its words, and the folder that it works in."""
    at, where = 0, "."
    while at < len(rest) and rest[at].startswith("-"):
        if rest[at] in {"-C", "--work-tree"} and rest[at + 1 :]:
            where = rest[at + 1]
        elif rest[at].startswith("--work-tree="):
            where = rest[at].partition("=")[2]
        at += 2 if rest[at] in _GIT_VALUED else 1
    return "".join(rest[at : at + 1]), rest[at + 1 :], where


def _takes(rest: tuple[str, ...], where: str, scene: Scene) -> bool:
    """Whether what `git add` is given, in the folder `where`, has a secret among it."""
    places = ((place_of(path, scene.host, (where,)), resolved(path, scene.host, where)) for path in _taken_paths(rest))
    return any(place in ("key", "root") or (place and base(path) == "toolguard") for place, path in places)


def _taken_paths(rest: tuple[str, ...]) -> list[str]:
    return [word for word in rest if not word.startswith("-")] or (["."] if not _GIT_ALL.isdisjoint(rest) else [])


def _extracts(rest: tuple[str, ...]) -> bool:
    mode = rest[0] if rest and not rest[0].startswith("--") else ""
    short = (word for word in rest if word is mode or re.fullmatch(r"-[a-zA-Z]+", word))
    return "--extract" in rest or any("x" in word for word in short)


def _moved(run: Run, rest: tuple[str, ...], scene: Scene) -> str:
    """Whether it moves such a folder away, or puts a whole content in its place."""
    given = [word for word in rest if not word.startswith("-")]
    if len(given) <= 1 or not (run.name == "mv" or any(_RECURSIVE.match(word) for word in rest)):
        return ""
    if run.name == "mv" and any(_holds(word, run, scene) for word in given[:-1]):
        return FILES
    contents = any(_is_contents(word, run.name) for word in given[:-1])
    return FILES if contents and _holds(given[-1], run, scene) else ""


def _copied(run: Run, scene: Scene) -> Finding | None:
    """Whether it copies a folder with a secret somewhere in it, that is not left out."""
    found = None
    for at, word, folder in copies.sources(run):
        if UNKNOWN in folder or not (root := _secret_root(word, resolved(folder, scene.host, scene.here(run)), scene)):
            continue
        left = left_out(run, scene, root, word, at if run.name in TARS else 0)
        if left == "none" and copies.takes_all(run):
            return Finding(KEY)
        if left != "all":
            found = Finding(KEY, certain=False)
    return found


def _added(run: Run, scene: Scene) -> Finding | None:
    """Whether `git add` may take a secret from a folder below: what is ignored there is not known."""
    verb, words, where = _git_verb(run.argv[1:]) if run.name == "git" else ("", (), "")
    if verb not in _GIT_TAKES:
        return None
    folder = resolved(where, scene.host, scene.here(run))
    found = any(_secret_root(path, folder, scene) for path in _taken_paths(words))
    return Finding(KEY, certain=False) if found else None


def _secret_root(word: str, folder: str, scene: Scene) -> str:
    """The folder that is meant, where a secret lies in it."""
    if UNKNOWN in word:
        return ""
    path = resolved(word, scene.host, folder)
    parts = tuple(part for part in path.lower().split("/") if part)
    return path if any(tuple(part.lower() for part in key[: len(parts)]) == parts for key in scene.protected.keys) else ""


def _unpacked(run: Run, scene: Scene) -> Finding | None:
    """Whether it unpacks into a state folder, or into one above that it is given; where it only runs there, possibly."""
    rest = run.argv[1:]
    options: tuple[str, ...]
    if run.name in TARS:
        unpacks, options = _extracts(rest), ("-C", "--directory")
    elif run.name in _UNPACKERS:
        first, options = _UNPACKERS[run.name]
        unpacks = first.match("".join(rest[:1])) is not None
    else:
        return None
    folder = _value(rest, options)
    if not unpacks or not _holds(folder or ".", run, scene):
        return None
    return Finding(FILES, certain=bool(folder) or _is_in_state(".", run, scene))


def _is_in_state(path: str, run: Run, scene: Scene) -> bool:
    state = scene.protected.state.lower()
    return f"{resolved(path, scene.host, scene.here(run)).lower()}/".startswith(f"{state}/")


def _fetched(run: Run, scene: Scene) -> Finding | None:
    """Whether it fetches a file to a place of ours; where the server chooses its name, that is possible."""
    if run.name not in _FETCHES:
        return None
    rest = run.argv[1:]
    folder = _value(rest, _FETCHES[run.name]) or "."
    if UNKNOWN in folder or not (_holds(folder, run, scene) or _is_ours(folder, run, scene)):
        return None
    names = [_file_name(word, run.name) for word in rest if not word.startswith("-")] if _by_address(run) else []
    for at, word in enumerate(rest):
        if run.name != "wget" and (found := _OUTPUT.fullmatch(word)):
            names.append(found[1] or "".join(rest[at + 1 : at + 2]))
    if any(_is_ours(f"{folder}/{name}", run, scene) for name in names if name):
        return Finding(FILES)
    unsure = any(map(_SERVERS_CHOICE.fullmatch, rest)) or any(
        UNKNOWN in name or "[" in name or "{" in name for name in names
    )
    return Finding(FILES, certain=False) if unsure and _is_in_state(folder, run, scene) else None


def _by_address(run: Run) -> bool:
    """Whether a file that is fetched is called as at the end of its address."""
    return run.name != "curl" or any(map(_REMOTE_NAME.fullmatch, run.argv[1:]))


def _file_name(address: str, program: str) -> str:
    name = base(address.partition("#")[0].partition("?")[0])
    return name if program == "curl" else unquote(name)


def _linked(rest: tuple[str, ...]) -> list[str]:
    """What `ln` makes another way to."""
    given = [word for word in rest if not word.startswith("-")]
    return given[: max(1, len(given) - 1)]


def _is_contents(word: str, name: str) -> bool:
    """Whether what is copied comes to lie right in the target: `x/.`, `x/*`, a state folder itself, rsync's `x/`."""
    return bool(_CONTENTS.search(word)) or (name == "rsync" and word.endswith("/"))


def _value(rest: tuple[str, ...], options: tuple[str, ...]) -> str:
    """What an option is given, as the next word, after `=`, or in the same word."""
    for at, word in enumerate(rest):
        for option in options:
            if word == option:
                return "".join(rest[at + 1 : at + 2])
            if word.startswith(option + "="):
                return word[len(option) + 1 :]
            if not option.startswith("--") and word.startswith(option):
                return word[len(option) :]
    return ""


def _is_ours(path: str, run: Run, scene: Scene) -> bool:
    return bool(place_of(resolved(path, scene.host, scene.here(run)), scene.host, ("/",)))


def _holds(path: str, run: Run, scene: Scene) -> bool:
    return UNKNOWN not in path and holds_ours(path, scene.host, scene.here(run))
