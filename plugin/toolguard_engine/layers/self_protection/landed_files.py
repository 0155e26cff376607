"""Finds files that would land on a protected place: copied, moved, linked, unpacked or checked out.

`effects.landings` says what lands where. Content of unknown names that lands in a folder above a protected place may replace
it. That is certain if the command decides what lands, and only possible if an archive, a repository or an unknown word does.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from posixpath import normpath

from msgspec.structs import replace

from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.landings import Landing, landings
from toolguard_engine.layers.self_protection import own_config
from toolguard_engine.layers.self_protection.scene import (
    FILES,
    CommandScene,
    ProtectionFinding,
    holds_ours,
    is_loopback,
    place_of,
    resolved,
    strongest,
)
from toolguard_engine.layers.self_protection.unknown_folders import UNDECIDED, UnknownFolders
from toolguard_engine.model.lazy import kept

OVER = (
    "This command would put files into a folder that holds the guard's files or its configuration, and may replace them. "
    "Put them into a folder of their own."
)
_LINK_FARMS = frozenset({"stow", "xstow"})
_WILD = frozenset("*?[")
_MAX_PATTERN = 256
_MAX_PARTS = 64


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    unknown = UnknownFolders(scene)
    for run in scene.runs:
        if finding := strongest(_judged(run, scene, unknown)):
            yield finding


def _judged(run: ProgramRun, scene: CommandScene, unknown: UnknownFolders) -> Iterator[ProtectionFinding]:
    for landing in landings(run, _before(run, scene)):
        if landing.host and not is_loopback(landing.host):
            continue
        if landing.source == UNKNOWN and scene.is_wrapper(run):
            continue  # the program that it starts is judged by itself
        harms = _replaces_content(landing) or _has_protected_name(landing.name, scene)
        if harms and run.name not in UNDECIDED and unknown.may_be_any(landing.folder, run):
            yield ProtectionFinding(FILES, certain=False)
        for here in [scene.protected.home] if landing.host else unknown.of_run(run):
            if finding := _finding(landing, run, here, scene):
                yield finding if here == scene.here(run) or landing.host else replace(finding, certain=False)


def _before(run: ProgramRun, scene: CommandScene) -> tuple[ProgramRun, ...]:
    return tuple(scene.pipelines.get(run.pipeline, [])[: scene.positions.get(id(run), 0)])


def _finding(landing: Landing, run: ProgramRun, here: str, scene: CommandScene) -> ProtectionFinding | None:
    if landing.when == "absolute-names":
        return ProtectionFinding(FILES, certain=False)
    if UNKNOWN in landing.path:
        reached = any(_may_reach(path, landing, scene) for path in _guesses(landing, here, scene))
        return ProtectionFinding(FILES, certain=False, cause=landing.path) if reached else None
    path = resolved(landing.path, scene.host, here)
    if landing.when == "no-folder" and holds_ours(path, scene.host, "/"):
        return None  # it is a folder
    place = place_of(path, scene.host, ("/",))
    if place in ("guard", "key"):
        return ProtectionFinding(FILES, cause=landing.path, harmless="files")
    if place == "config":
        return (
            None if scene.lists.is_worked_out else ProtectionFinding(own_config.CHANGED, certain=False, cause=landing.path)
        )
    if landing.deep and holds_ours(path, scene.host, "/"):
        return _laid_over(landing, run)
    if GLOB.search(landing.path) and _may_reach(path, landing, scene):
        return ProtectionFinding(FILES, certain=False, cause=landing.path)
    return None


def _laid_over(landing: Landing, run: ProgramRun) -> ProtectionFinding | None:
    """What a landing in a folder above a protected place is."""
    if run.name == "git" and not landing.overwrites:
        return None  # it refuses a folder that is not empty
    if run.name in _LINK_FARMS and not landing.overwrites:
        return None  # links beside what is there
    removes = not landing.merges or any(words.trait("deletes") or "deletes" in words.does for words in run.readings)
    return ProtectionFinding(FILES if removes else OVER, removes, landing.folder)


def _guesses(landing: Landing, here: str, scene: CommandScene) -> Iterator[str]:
    """Paths with unknown parts, absolute. An unknown part may be empty, but then the rest must say which folder it is."""
    folder = landing.folder
    if UNKNOWN not in folder:
        yield f"{resolved(folder, scene.host, here)}/{landing.name}"
        return
    if folder[0] != UNKNOWN:
        known = folder.partition(UNKNOWN)[0]
        yield f"{_absolute(known, here, scene)}{folder[len(known) :]}/{landing.name}"
    if (rest := folder.replace(UNKNOWN, "")).strip("/."):
        yield f"{resolved(rest, scene.host, here)}/{landing.name}"


def _has_protected_name(name: str, scene: CommandScene) -> bool:
    """Whether it has the name of a protected place, so that it would replace that in the right folder."""
    pattern = name.partition("/")[0].lower().replace("[^", "[!")
    if not pattern.strip(UNKNOWN) or len(pattern) > _MAX_PATTERN:
        return False
    names = _protected_names(scene)
    return pattern in names if _WILD.isdisjoint(pattern) else any(fnmatchcase(name, pattern) for name in names)


@kept
def _protected_names(scene: CommandScene) -> frozenset[str]:
    return frozenset(place[-1].lower() for place in (*scene.protected.places, *scene.protected.roots) if place)


def _replaces_content(landing: Landing) -> bool:
    """A folder that is there already: one that is not yet has nothing to lose."""
    return landing.deep and landing.merges and landing.overwrites and not landing.name and landing.when != "no-folder"


def _absolute(beginning: str, here: str, scene: CommandScene) -> str:
    """The known beginning of a path, which may end within a name."""
    above, slash, name = beginning.rpartition("/")
    if not slash:
        return f"{resolved('.', scene.host, here)}/{name}" if name != "~" else scene.protected.home
    return f"{resolved(above or '/', scene.host, here).rstrip('/')}/{name}"


def _may_reach(path: str, landing: Landing, scene: CommandScene) -> bool:
    """Whether a path with unknown parts or wildcards may be a protected place, lie in one, or be a folder above one.
    Wildcards mean hidden files as well: a shell option decides that."""
    parts = tuple(part for part in normpath(path).lower().split("/") if part)[:_MAX_PARTS]
    if not parts or UNKNOWN in parts[0]:
        return False
    protected = scene.protected
    roots = protected.roots if landing.merges or UNKNOWN not in path else ()
    places = (*protected.places, *protected.keys)
    return any(_fits(parts, real, landing, inside=True) for real in places) or any(
        landing.deep and _fits(parts, real, landing, inside=False) for real in roots
    )


def _fits(parts: tuple[str, ...], real: tuple[str, ...], landing: Landing, *, inside: bool) -> bool:
    """`inside`: whether what lies in `real` counts, too. A wholly unknown part stands for any number of parts."""
    ends = {0}
    for at, part in enumerate(parts):
        if not part.strip(UNKNOWN):
            last = at == len(parts) - 1 and bool(landing.name)
            one = last and not (landing.deep and landing.merges)
            ends = {end + 1 for end in ends} if one else set(range(min(ends), len(real) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(real) and _is_like(real[end].lower(), part)}
        if not ends:
            return False
        if inside and len(real) in ends:
            return True
    return len(real) in ends or (landing.deep and landing.merges and min(ends) < len(real))


def _is_like(name: str, pattern: str) -> bool:
    if len(pattern) > _MAX_PATTERN:
        return True
    return fnmatchcase(name, pattern.replace("[^", "[!").replace(UNKNOWN, "*"))
