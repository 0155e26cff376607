"""Finds programs that take or copy a whole folder that holds a protected place: moves, links, backups, git, downloads.

What would be put into such a folder is found by `landed_files`. A backup that excludes the guard's
secrets may run (`exclusions`).
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.landings.checked_out_files import working_tree
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.layers.self_protection import copies, own_config
from toolguard_engine.layers.self_protection.exclusions import TARS, not_left_out
from toolguard_engine.layers.self_protection.scene import (
    COPY,
    FILES,
    KEY,
    CommandScene,
    ProtectionFinding,
    base,
    place_of,
    resolved,
)

_GIT_TAKES_AWAY = frozenset({"rm", "mv", "filter-branch", "clean"})
_GIT_TAKES = frozenset({"add", "stage"})


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    for run in scene.runs:
        if text := next(filter(None, (_whole(run, words, scene) for words in run.readings)), ""):
            yield ProtectionFinding(text)
        if finding := _copied(run, scene) or _added(run, scene) or _fetched(run, scene):
            yield finding


def _whole(run: ProgramRun, words: CommandWords, scene: CommandScene) -> str:
    """Why it must not run: it moves a folder that holds a protected place away, links to it, or is git in it."""
    if run.name == "git":
        return _git(run, words, scene)
    takes = run.name in _TAKES_AWAY and any(scene.holds_ours(word.text, run) for word in words.named("source"))
    return FILES if takes else ""


_TAKES_AWAY = frozenset({*manual_catalogue.aliases("mv"), *manual_catalogue.aliases("ln")})


def _git(run: ProgramRun, words: CommandWords, scene: CommandScene) -> str:
    """Why git must not run: it takes files of a state folder away, or adds a secret to a repository."""
    where, _ = working_tree(run, words)
    if words.verb in _GIT_TAKES:
        return KEY if _takes(words, resolved(where, scene.host, scene.here(run)), scene) else ""
    return FILES if words.verb in _GIT_TAKES_AWAY and scene.is_ours(where, run) else ""


def _takes(words: CommandWords, where: str, scene: CommandScene) -> bool:
    """Whether `git add`, in the folder `where`, names a secret."""
    places = ((place_of(path, scene.host, (where,)), resolved(path, scene.host, where)) for path in _taken_paths(words))
    return any(place == "key" or (place == "guard" and base(path) == "toolguard") for place, path in places)


def _taken_paths(words: CommandWords) -> list[str]:
    return [word.text for word in words.operands] or (["."] if words.has("--all") else [])


def _copied(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    """Whether it copies a folder with a secret that is not excluded."""
    folders = []
    for at, word, folder in copies.sources(run):
        if UNKNOWN in folder or not (root := _secret_root(word, resolved(folder, scene.host, scene.here(run)), scene)):
            continue
        if place_of(root, scene.host, ("/",)) in ("guard", "key"):
            return ProtectionFinding(KEY, cause=word, harmless="secrets")
        folders.append((root, word, at if run.name in TARS else 0))
    cause = not_left_out(run, scene, folders)
    if cause is None:
        return None
    return ProtectionFinding(COPY, certain=False, cause=cause, harmless=None if copies.serves(run) else "secrets")


def _added(run: ProgramRun, scene: CommandScene) -> ProtectionFinding | None:
    """Whether `git add` may include a secret from a folder below: what `.gitignore` excludes is not known."""
    for words in run.readings if run.name == "git" else ():
        folder = resolved(working_tree(run, words)[0], scene.host, scene.here(run))
        if words.verb not in _GIT_TAKES:
            continue
        if cause := next((path for path in _taken_paths(words) if _secret_root(path, folder, scene)), ""):
            return ProtectionFinding(COPY, certain=False, cause=cause)
    return None


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
    problems = [
        _downloads(run, words, scene) for words in run.readings if not words.does.isdisjoint(("downloads", "requests"))
    ]
    return next(
        (finding for finding in problems if finding is not None and finding.certain), next(filter(None, problems), None)
    )


def _downloads(run: ProgramRun, words: CommandWords, scene: CommandScene) -> ProtectionFinding | None:
    outputs = [word.text for word in words.values("--output", "--out")]
    unsure = any("#" in name and _may_be_ours(_NUMBERED.sub(UNKNOWN, name), run, scene) for name in outputs)
    if "downloads" in words.does or words.has("--remote-name", "--remote-name-all", "--remote-header-name"):
        outputs += [_file_name(word.text, run.name) for word in words.named("url")]
    for folder in [word.text for word in words.named("folder")] or ["."]:
        if UNKNOWN in folder or not (scene.holds_ours(folder, run) or scene.is_ours(folder, run)):
            continue
        named = [f"{folder}/{name}" for name in outputs if name]
        if ours := next((path for path in named if scene.is_ours(path, run)), ""):
            is_config = scene.place_from(ours, run) == "config"
            return ProtectionFinding(own_config.CHANGED if is_config else FILES, certain=not is_config, cause=ours)
        chosen = words.trait("server-names") or any(map(_is_pattern, outputs))
        listed = run.name == "aria2c" and bool(words.named("names"))  # a list may name files as well
        makes_folders = listed or words.trait("makes-folders") or any("#" in name for name in outputs)
        unsure = unsure or (chosen and (makes_folders or _is_in_state(folder, run, scene)))
    return ProtectionFinding(FILES, certain=False) if unsure else None


_NUMBERED = lazy_re.compile(r"#\d")
"""What stands in the name of a file for a part of the address, with curl."""


def _may_be_ours(path: str, run: ProgramRun, scene: CommandScene) -> bool:
    return scene.possible(resolved(path, scene.host, scene.here(run))) != ""


def _is_pattern(name: str) -> bool:
    return not {UNKNOWN, "[", "{", "#"}.isdisjoint(name)


def _file_name(address: str, program: str) -> str:
    name = base(address.partition("#")[0].partition("?")[0])
    return name if program == "curl" else unquote(name)
