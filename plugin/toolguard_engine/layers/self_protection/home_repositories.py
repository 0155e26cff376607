"""Finds git commands that change a whole working tree which is a folder above a protected place, though they run in a folder
of it and name no other: a home that is a repository."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.landings import Landing, landings
from toolguard_engine.effects.landings.checked_out_files import working_tree
from toolguard_engine.effects.shell.command import UNKNOWN, ProgramRun, Reading
from toolguard_engine.layers.self_protection.landed_files import OVER
from toolguard_engine.layers.self_protection.scene import CommandScene, ProtectionFinding, holds_ours, resolved
from toolguard_engine.model.call import Host
from toolguard_engine.model.files import FileSource, FileText

MAX_ABOVE = 12
MAX_FOLDERS = 8
"""Folders for which the disk is asked; a command that checks out more of them is held for that alone."""


def findings(commands: tuple[Reading, ...], host: Host, folder: str, files: FileSource) -> Iterator[ProtectionFinding]:
    for reading in commands:
        gits = [run for run in reading.runs if run.name == "git"]
        scene = CommandScene(reading.runs, host, folder)
        made = {_made(run, scene) for run in gits} if gits else set[str]()
        checked = {place for run in gits for place in _places(run, scene)}
        if len(checked) > MAX_FOLDERS or any(holds_ours(_root(place, made, files), host, "/") for place in checked):
            yield ProtectionFinding(OVER, certain=False)


def _places(run: ProgramRun, scene: CommandScene) -> Iterator[str]:
    """The folders whose repository the command checks out as a whole."""
    for each in landings(run):
        if each.is_tree and UNKNOWN not in each.folder:
            yield _in_scene(each, run, scene)


def _in_scene(landing: Landing, run: ProgramRun, scene: CommandScene) -> str:
    return resolved(landing.folder, scene.host, scene.here(run))


def _made(run: ProgramRun, scene: CommandScene) -> str:
    """The repository that a command makes; empty if it makes none."""
    if run.words is None or run.words.verb != "init":
        return ""
    folder = run.words.one("target") or working_tree(run, run.words)[0]
    return resolved(folder, scene.host, scene.here(run))


def _root(place: str, made: set[str], files: FileSource) -> str:
    """The working tree that a folder belongs to; empty if it is not in one."""
    for _ in range(MAX_ABOVE):
        if place in made or _is_repository(place, files):
            return place
        place = place.rpartition("/")[0]
        if not place:
            break
    return ""


def _is_repository(place: str, files: FileSource) -> bool:
    return any(isinstance(files.read(f"{place}/{name}"), FileText) for name in (".git/HEAD", ".git"))
