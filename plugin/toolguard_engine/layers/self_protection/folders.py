"""Finds programs that change or copy a whole folder that holds a protected place: unpacking, backups, git, downloads.

A backup that excludes the guard's secrets may run (`exclusions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from toolguard_engine.effects import program_catalogue
from toolguard_engine.effects.shell.command import UNKNOWN, ProgramRun
from toolguard_engine.layers.self_protection import copies
from toolguard_engine.layers.self_protection.exclusions import TARS, left_out
from toolguard_engine.layers.self_protection.scene import (
    FILES,
    KEY,
    CommandScene,
    ProtectionFinding,
    base,
    place_of,
    resolved,
)

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
"""Programs that unpack: what their first word then matches, and the options that name the folder."""

_FETCHES: dict[str, tuple[str, ...]] = {
    "curl": ("--output-dir",), "wget": ("-P", "--directory-prefix"), "aria2c": ("-d", "--dir"),
}  # fmt: skip
"""Programs that download a file, and the options that name the target folder."""

_REMOTE_NAME = re.compile(r"-[fsSLkgvJR#i46]*O[fsSLkgvJR#i46]*|--remote-name(?:-all)?")
_OUTPUT = re.compile(r"(?:-[fsSLkgvJR#i46]*o|--output=|--out=)(.*)|--output|--out", re.DOTALL)
_SERVERS_CHOICE = re.compile(
    r"-[fsSLkgvOR#i46]*J[fsSLkgvOR#i46]*|--remote-header-name|--content-disposition|--trust-server-names|-r|-m|--recursive"
    r"|--mirror|-i|--input-file\b.*"
)
"""Options with which the file name does not follow from the address."""

_COPIERS = program_catalogue.programs("folder_mover")
_RECURSIVE = re.compile(r"-\w*[rRa]|--(?:recursive|archive)")
_CONTENTS = re.compile(r"(?:^|/)(?:\.|\*|\.(?:openclaw|clawdbot)/?)$")


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    for run in scene.runs:
        if text := _whole(run, scene):
            yield ProtectionFinding(text)
        if found := _copied(run, scene) or _added(run, scene) or _unpacked(run, scene) or _fetched(run, scene):
            yield found


def _whole(run: ProgramRun, scene: CommandScene) -> str:
    name, rest = run.name, run.argv[1:]
    if name == "git":
        return _git(rest, run, scene)
    if name == "patch":
        return FILES if scene.is_ours(_value(rest, ("-d", "--directory")) or ".", run) else ""
    if name == "ln":
        return FILES if any(scene.holds_ours(word, run) for word in _linked(rest)) else ""
    return _moved(run, rest, scene) if name in _COPIERS else ""


def _git(rest: tuple[str, ...], run: ProgramRun, scene: CommandScene) -> str:
    """Why git must not run: it changes files of a state folder, or adds a secret to a repository."""
    verb, words, where = _git_verb(rest)
    if verb in _GIT_TAKES:
        return KEY if _takes(words, resolved(where, scene.host, scene.here(run)), scene) else ""
    if verb in _GIT_PATCHES and (folder := _value(words, ("--directory",))):
        where = f"{where}/{folder}"
    return FILES if verb in _GIT_CHANGES and scene.is_ours(where, run) else ""


def _git_verb(rest: tuple[str, ...]) -> tuple[str, tuple[str, ...], str]:
    """The sub-command of git, its words, and the folder that it works in."""
    at, where = 0, "."
    while at < len(rest) and rest[at].startswith("-"):
        if rest[at] in {"-C", "--work-tree"} and rest[at + 1 :]:
            where = rest[at + 1]
        elif rest[at].startswith("--work-tree="):
            where = rest[at].partition("=")[2]
        at += 2 if rest[at] in _GIT_VALUED else 1
    return "".join(rest[at : at + 1]), rest[at + 1 :], where


def _takes(rest: tuple[str, ...], where: str, scene: CommandScene) -> bool:
    """Whether `git add`, in the folder `where`, names a secret."""
    places = ((place_of(path, scene.host, (where,)), resolved(path, scene.host, where)) for path in _taken_paths(rest))
    return any(place in ("key", "root") or (place and base(path) == "toolguard") for place, path in places)


def _taken_paths(rest: tuple[str, ...]) -> list[str]:
    return [word for word in rest if not word.startswith("-")] or (["."] if not _GIT_ALL.isdisjoint(rest) else [])


def _extracts(rest: tuple[str, ...]) -> bool:
    mode = rest[0] if rest and not rest[0].startswith("--") else ""
    short = (word for word in rest if word is mode or re.fullmatch(r"-[a-zA-Z]+", word))
    return "--extract" in rest or any("x" in word for word in short)


def _moved(run: ProgramRun, rest: tuple[str, ...], scene: CommandScene) -> str:
    """Why it must not run: it moves such a folder away, or copies a whole folder's contents into it."""
    given = [word for word in rest if not word.startswith("-")]
    if len(given) <= 1 or not (run.name == "mv" or any(_RECURSIVE.match(word) for word in rest)):
        return ""
    if run.name == "mv" and any(scene.holds_ours(word, run) for word in given[:-1]):
        return FILES
    contents = any(_is_contents(word, run.name) for word in given[:-1])
    return FILES if contents and scene.holds_ours(given[-1], run) else ""


def _copied(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    """Whether it copies a folder with a secret that is not excluded."""
    found = None
    for at, word, folder in copies.sources(run):
        if UNKNOWN in folder or not (root := _secret_root(word, resolved(folder, scene.host, scene.here(run)), scene)):
            continue
        left = left_out(run, scene, root, word, at if run.name in TARS else 0)
        if left == "none" and copies.takes_all(run):
            return ProtectionFinding(KEY)
        if left != "all":
            found = ProtectionFinding(KEY, certain=False)
    return found


def _added(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    """Whether `git add` may include a secret from a folder below: what `.gitignore` excludes is not known."""
    verb, words, where = _git_verb(run.argv[1:]) if run.name == "git" else ("", (), "")
    if verb not in _GIT_TAKES:
        return None
    folder = resolved(where, scene.host, scene.here(run))
    found = any(_secret_root(path, folder, scene) for path in _taken_paths(words))
    return ProtectionFinding(KEY, certain=False) if found else None


def _secret_root(word: str, folder: str, scene: CommandScene) -> str:
    """The absolute path of a folder that holds a secret; empty if it holds none."""
    if UNKNOWN in word:
        return ""
    path = resolved(word, scene.host, folder)
    return path if scene.holds_secret(path) else ""


def _unpacked(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    """Whether it unpacks into a state folder or one above it; only possible if it merely runs above one."""
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
    if not unpacks or not scene.holds_ours(folder or ".", run):
        return None
    return ProtectionFinding(FILES, certain=bool(folder) or _is_in_state(".", run, scene))


def _is_in_state(path: str, run: ProgramRun, scene: CommandScene) -> bool:
    state = scene.protected.state.lower()
    return f"{resolved(path, scene.host, scene.here(run)).lower()}/".startswith(f"{state}/")


def _fetched(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    """Whether it downloads to a protected place; only possible if the server chooses the file name."""
    if run.name not in _FETCHES:
        return None
    rest = run.argv[1:]
    folder = _value(rest, _FETCHES[run.name]) or "."
    if UNKNOWN in folder or not (scene.holds_ours(folder, run) or scene.is_ours(folder, run)):
        return None
    names = [_file_name(word, run.name) for word in rest if not word.startswith("-")] if _by_address(run) else []
    for at, word in enumerate(rest):
        if run.name != "wget" and (found := _OUTPUT.fullmatch(word)):
            names.append(found[1] or "".join(rest[at + 1 : at + 2]))
    if any(scene.is_ours(f"{folder}/{name}", run) for name in names if name):
        return ProtectionFinding(FILES)
    unsure = any(map(_SERVERS_CHOICE.fullmatch, rest)) or any(
        UNKNOWN in name or "[" in name or "{" in name for name in names
    )
    return ProtectionFinding(FILES, certain=False) if unsure and _is_in_state(folder, run, scene) else None


def _by_address(run: ProgramRun) -> bool:
    """Whether a downloaded file is named after its address."""
    return run.name != "curl" or any(map(_REMOTE_NAME.fullmatch, run.argv[1:]))


def _file_name(address: str, program: str) -> str:
    name = base(address.partition("#")[0].partition("?")[0])
    return name if program == "curl" else unquote(name)


def _linked(rest: tuple[str, ...]) -> list[str]:
    """The targets that `ln` links to."""
    given = [word for word in rest if not word.startswith("-")]
    return given[: max(1, len(given) - 1)]


def _is_contents(word: str, name: str) -> bool:
    """Whether a folder's contents are copied right into the target: `x/.`, `x/*`, a state folder, rsync's `x/`."""
    return bool(_CONTENTS.search(word)) or (name == "rsync" and word.endswith("/"))


def _value(rest: tuple[str, ...], options: tuple[str, ...]) -> str:
    """The value of an option: the next word, after `=`, or attached."""
    for at, word in enumerate(rest):
        for option in options:
            if word == option:
                return "".join(rest[at + 1 : at + 2])
            if word.startswith(option + "="):
                return word[len(option) + 1 :]
            if not option.startswith("--") and word.startswith(option):
                return word[len(option) :]
    return ""
