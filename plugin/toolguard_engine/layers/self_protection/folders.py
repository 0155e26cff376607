"""Finds programs that change or copy a whole folder that holds a protected place: backups, git, downloads.

A backup that excludes the guard's secrets may run (`exclusions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from toolguard_engine.effects import program_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords
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
_COPIERS = program_catalogue.programs("folder_mover")
_CONTENTS = re.compile(r"(?:^|/)(?:\.|\*|\.(?:openclaw|clawdbot)/?)$")


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    for run in scene.runs:
        if text := _whole(run, scene):
            yield ProtectionFinding(text)
        if found := _copied(run, scene) or _added(run, scene) or _fetched(run, scene):
            yield found


def _whole(run: ProgramRun, scene: CommandScene) -> str:
    name, rest = run.name, run.argv[1:]
    if name == "git":
        return _git(rest, run, scene)
    if name == "patch":
        return FILES if scene.is_ours(_value(rest, ("-d", "--directory")) or ".", run) else ""
    if name == "ln":
        return FILES if any(scene.holds_ours(word, run) for word in _linked(rest)) else ""
    return _moved(run, scene) if name in _COPIERS else ""


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


def _moved(run: ProgramRun, scene: CommandScene) -> str:
    """Why it must not run: it moves such a folder away, or copies a whole folder's contents into it."""
    return FILES if any(_moves(run, words, scene) for words in run.readings) else ""


def _moves(run: ProgramRun, words: CommandWords, scene: CommandScene) -> bool:
    sources = [word.text for word in words.named("source")]
    if run.name == "mv" and any(scene.holds_ours(word, run) for word in sources):
        return True
    contents = any(_is_contents(word, run.name) for word in sources)
    return contents and (run.name == "mv" or words.recursive) and scene.holds_ours(words.one("target"), run)


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


def _is_in_state(path: str, run: ProgramRun, scene: CommandScene) -> bool:
    state = scene.protected.state.lower()
    return f"{resolved(path, scene.host, scene.here(run)).lower()}/".startswith(f"{state}/")


def _fetched(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    """Whether it downloads to a protected place; only possible if the server chooses the file name."""
    found = [_downloads(run, words, scene) for words in run.readings if not words.does.isdisjoint(("downloads", "requests"))]
    return next((each for each in found if each is not None and each.certain), next(filter(None, found), None))


def _downloads(run: ProgramRun, words: CommandWords, scene: CommandScene) -> ProtectionFinding | None:
    unsure = False
    outputs = [word.text for word in words.values("--output", "--out")]
    if "downloads" in words.does or words.has("--remote-name", "--remote-name-all", "--remote-header-name"):
        outputs += [_file_name(word.text, run.name) for word in words.named("url")]
    for folder in [word.text for word in words.named("folder")] or ["."]:
        if UNKNOWN in folder or not (scene.holds_ours(folder, run) or scene.is_ours(folder, run)):
            continue
        if any(scene.is_ours(f"{folder}/{name}", run) for name in outputs if name):
            return ProtectionFinding(FILES)
        chosen = words.trait("server-names") or any(UNKNOWN in name or "[" in name or "{" in name for name in outputs)
        unsure = unsure or (chosen and _is_in_state(folder, run, scene))
    return ProtectionFinding(FILES, certain=False) if unsure else None


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
