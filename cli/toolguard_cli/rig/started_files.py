"""Tells from a trace of the gateway which files it runs, imports, sources or is configured by.

What decides is who asks for a file and what it is called: a program that is run, a file that a shell opens, a module or a
file beside one, a settings file. All other files are data: a session, a picture, a note.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from posixpath import basename, dirname
from typing import get_args

from toolguard_cli.rig.started_trace import PLANTED, PROGRAMS, TracedPlaces
from toolguard_cli.rig.syscall_trace import FileAccess
from toolguard_engine.host.started_catalogue import StartedFile, StartedList, Use

SHELLS = frozenset({"bash", "sh", "dash", "zsh"})
GATEWAY = "node"
USES: tuple[Use, ...] = get_args(Use)
"""The first counts where a place is used in several ways."""

MODULES = re.compile(r"\.(?:[cm]?[jt]s|node|wasm)\Z")
_PACKAGE = "package.json"
"""Above code, such as in the home folder, it tells only in which format modules are written."""

_CODE_FOLDERS = frozenset({"node_modules", ".node_modules", ".node_libraries", "node-compile-cache", "jiti"})
"""Folders in which Node looks for modules, and in which it and its loaders keep compiled code."""

_SETTINGS = re.compile(
    r"(?:\A|/)(?:[^/]*\.env|[^/]*\.(?:json5?|ya?ml|toml|conf)(?:\.[\w-]+)?|\.[a-z]+rc|\.gitconfig|config)\Z"
    r"|\A(?:state|agent)/.*\.sqlite\Z"
)
"""The databases of the gateway's state hold settings too: jobs, paired devices, installed plugins."""

_WORK = re.compile(r"(?:\A|/)(?:memory|docs|sessions?|logs?|media|transcripts)/")
"""Folders whose files are what the gateway works on."""

_OWN_NAMES = re.compile(r"[0-9a-f]{8,}(?:-[0-9a-f-]+)?|(?<=[-.])\d{4,}(?=[-./]|\Z)")
"""Ids, process ids and times in names, which differ from start to start."""

_PASSING = re.compile(r"\.tmp\Z|\.lock\b|\.doctor-|-importing\Z|-discarding\Z|/\.staging-|[\s:]")


def started(accesses: Iterable[FileAccess], places: TracedPlaces) -> frozenset[StartedFile]:
    """Each place once, with its first use of `USES`; it was present if any of its files was."""
    seen = [(access, place) for access in accesses if (place := _place(access.path, places)) and not _PASSING.search(place)]
    modules = {dirname(place) for access, place in seen if _is_module(access, place) and access.found}
    holders = {basename(dirname(folder)) for folder in modules if basename(folder) == PLANTED} - {""}
    uses: dict[str, tuple[int, bool]] = {}
    for opened, place in seen:
        if use := _use(opened, place, modules, holders):
            _add(uses, _general(*use), USES.index(use[1]), present=opened.found)
    gathered = _gathered(uses)
    return frozenset(StartedFile(place, USES[use], present) for place, (use, present) in gathered.items())


def _add(uses: dict[str, tuple[int, bool]], place: str, use: int, *, present: bool) -> None:
    before = uses.get(place, (use, False))
    uses[place] = min(before[0], use), before[1] or present


def _place(path: str, places: TracedPlaces) -> str:
    """The path from the innermost root that it lies in; empty outside of all, and in the gateway's package itself."""
    if path.startswith(f"{places.package}/"):
        return ""
    for folder in places.package.parents:
        if f"{path}/".startswith(f"{str(folder).rstrip('/')}/node_modules/"):
            return "above/node_modules"
    roots: tuple[tuple[str, Path], ...] = (
        ("agent", places.state / "agents" / "main"), ("state", places.state), ("workspace", places.workspace),
        ("start", places.start), ("temporary", places.temporary), ("home", places.home),
    )  # fmt: skip
    return next((f"{name}{path[len(str(root)) :]}" for name, root in roots if path.startswith(f"{root}/")), "")


def _is_module(access: FileAccess, place: str) -> bool:
    return access.program == GATEWAY and access.act != "run" and MODULES.search(place) is not None


def _use(access: FileAccess, place: str, modules: set[str], holders: set[str]) -> tuple[str, Use] | None:
    """The place that an access makes one of the list, and how it is used; None if it is data."""
    if access.act == "run":
        return place, "runs"
    if access.program in SHELLS:
        return _by_shell(access, place)
    if access.program == GATEWAY and (importer := _imported(access, place, modules, holders)):
        return importer, "imported"
    if access.folder or basename(place) == _PACKAGE or _WORK.search(place) or not _SETTINGS.search(place):
        return None
    return place, "config"


def _by_shell(access: FileAccess, place: str) -> tuple[str, Use] | None:
    folder, name = posixpath.split(place)
    if access.act == "look":
        return (f"{folder}/*", "runs") if name in PROGRAMS else None
    return None if access.folder else (place, "sourced")


def _imported(access: FileAccess, place: str, modules: set[str], holders: set[str]) -> str:
    """The place of code, or of what tells how to load it; empty if it is neither."""
    parts = place.split("/")
    at = next((at for at, part in enumerate(parts) if part in _CODE_FOLDERS), 0)
    if at:
        return "/".join((*parts[: at + 1], "**"))
    beside = dirname(place) in modules and "." in parts[-1]
    describes = parts[-1] == _PACKAGE and parts[0] in ("state", "agent")
    if not access.folder and (MODULES.search(place) or describes or beside):
        return place
    return f"{place}/**" if parts[-1] in holders and not access.found and parts[0] != "home" else ""


def _general(place: str, use: Use) -> str:
    """The place without the names that differ from start to start. A folder of the gateway's own with code under such names
    counts as a whole."""
    root, _, inside = place.partition("/")
    parts = ["*" if part == PLANTED else _OWN_NAMES.sub("*", part) for part in inside.split("/")]
    at = next((at for at, part in enumerate(parts) if "*" in part), 0)
    if at and root in ("state", "temporary") and use != "config":
        parts = [*parts[:at], "**"]
    return "/".join((root, *parts))


def _gathered(uses: dict[str, tuple[int, bool]]) -> dict[str, tuple[int, bool]]:
    """The uses without the places that lie in another one of the list."""
    whole = sorted(place.removesuffix("**") for place in uses if place.endswith("/**"))
    kept: dict[str, tuple[int, bool]] = {}
    for place, (use, present) in uses.items():
        above = next((folder for folder in whole if place.startswith(folder)), "")
        _add(kept, f"{above}**" if above else place, use, present=present)
    return kept


def missing(files: frozenset[StartedFile], known: StartedList) -> list[str]:
    """Places that the list does not have for any release. What happens in the background while a gateway is traced differs
    from time to time, and the guard protects all places with every release."""
    listed = {place.place for place in known.places}
    return [f"{file.place} ({file.use})" for file in sorted(files) if file.place not in listed]
