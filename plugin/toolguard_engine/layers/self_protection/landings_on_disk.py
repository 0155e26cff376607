"""Finds files that land in a folder above a protected place though no word says so: what the folder is, only the disk knows.

It may be a link to the home folder (`cp -r d/. link/`), or belong to a working tree that is the home (`git checkout`).
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, Reading
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.landings import Landing, landings
from toolguard_engine.effects.landings.checked_out_files import working_tree
from toolguard_engine.layers.self_protection.landed_files import OVER
from toolguard_engine.layers.self_protection.scene import (
    CommandScene,
    ProtectionFinding,
    holds_ours,
    is_elsewhere,
    resolved,
)
from toolguard_engine.model.call import Host
from toolguard_engine.model.files import FileSource, FileText
from toolguard_engine.model.lazy import kept_with

_NONE: frozenset[Any] = frozenset()
"""Kept with each reading; each empty set takes 216 bytes."""

MAX_ABOVE = 12
MAX_FOLDERS = 100
"""Folders for which the disk is asked; a command that puts files into more of them is held for that alone."""


def findings(commands: tuple[Reading, ...], host: Host, folder: str, files: FileSource) -> Iterator[ProtectionFinding]:
    for reading in commands:
        places = _all_places(reading, host, folder)
        folders = {place for place, _, _ in places}
        if len(folders) > MAX_FOLDERS:
            yield ProtectionFinding(OVER, certain=False)
        elif places:
            real = {place: files.resolve(place) for place in folders}
            scene = CommandScene(reading.runs, host, folder)
            made = {_made(run, scene) for run in scene.runs if run.name == "git"}
            if any(_is_over(place, name, real[place], host) for place, name, _ in places) or any(
                holds_ours(_root(real[place], made, files), host, "/") for place, _, is_tree in places if is_tree
            ):
                yield ProtectionFinding(OVER, certain=False)


@kept_with
def _all_places(reading: Reading, host: Host, folder: str) -> frozenset[tuple[str, str, bool]]:
    scene = CommandScene(reading.runs, host, folder)
    return frozenset(place for run in scene.runs if not is_elsewhere(run) for place in _places(run, scene)) or _NONE


def _places(run: ProgramRun, scene: CommandScene) -> Iterator[tuple[str, str, bool]]:
    """The folders whose content may be replaced, under which name, and whether git may do so in the whole working tree."""
    for landing in landings(run):
        if (landing.is_tree or _fills(landing)) and UNKNOWN not in landing.folder and not GLOB.search(landing.folder):
            name = "" if UNKNOWN in landing.name or GLOB.search(landing.name) else landing.name
            yield resolved(landing.folder, scene.host, scene.here(run)), name, landing.is_tree


def _fills(landing: Landing) -> bool:
    return landing.deep and landing.merges and landing.overwrites and not landing.host and landing.when != "absolute-names"


def _is_over(place: str, name: str, real: str, host: Host) -> bool:
    return real != place and holds_ours(f"{real}/{name}" if name else real, host, "/")


def _made(run: ProgramRun, scene: CommandScene) -> str:
    """The repository that a command makes; empty if it makes none."""
    if run.words.verb != "init":
        return ""
    folder = run.words.one("target") or working_tree(run, run.words)[0]
    return resolved(folder, scene.host, scene.here(run))


def _root(place: str, made: set[str], files: FileSource) -> str:
    """The working tree of the repository that a folder belongs to; empty if it is not in one."""
    for _ in range(MAX_ABOVE):
        if place in made or _is_repository(place, files):
            return _set_tree(place, files) or place
        place = place.rpartition("/")[0]
        if not place:
            break
    return ""


def _set_tree(place: str, files: FileSource) -> str:
    """The working tree that the repository's own settings name; empty if they name none."""
    folder = f"{place}/.git"
    if isinstance(link := files.read(folder), FileText) and (match := _LINK.match(link.text)):
        folder = normpath(f"{place}/{match[1]}") if match[1][0] != "/" else match[1]
    settings = files.read(f"{folder}/config")
    match = _WORK_TREE.search(settings.text[:_MAX_SETTINGS]) if isinstance(settings, FileText) else None
    if match is None:
        return ""
    named = match[1].strip('"')
    return named if named.startswith("/") else normpath(f"{folder}/{named}")


_LINK = lazy_re.compile(r"gitdir:\s{0,9}(\S.{0,400})")
_WORK_TREE = lazy_re.compile(r"(?mi)^\s{0,9}worktree\s{0,9}=\s{0,9}(\S.{0,400}?)\s{0,9}$")
_MAX_SETTINGS = 100_000


def _is_repository(place: str, files: FileSource) -> bool:
    return any(isinstance(files.read(f"{place}/{name}"), FileText) for name in (".git/HEAD", ".git"))
