"""Whether the gateway runs, imports, sources or is configured by a file by itself, as a trace of it has shown
(`host/started_catalogue`). Text only; no file is read.

Releases make no difference: what one of them loads, the next one may.
"""

from __future__ import annotations

from functools import cache

from toolguard_engine.effects.facts import place_globs
from toolguard_engine.host import started_catalogue
from toolguard_engine.host.started_catalogue import StartedFile

_TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/")  # noqa: S108 - where agents' paths lead
_READ_BACK = tuple(
    StartedFile(f"temporary/openclaw*/{name}", use="sourced", present=True)
    for name in ("openclaw-shell-snapshot-*/**", "*/snapshot.out")
)
"""What a shell prints into a temporary file, for the gateway to read and to source from another one before every command: in
a trace it is data."""

_MAX_PART = 256
_MAX_PARTS = 40
_REST = "**"
Parts = tuple[str, ...]


class StartedPlaces:
    """The places of a list, by root and first name."""

    def __init__(self, places: tuple[StartedFile, ...]) -> None:
        starts = (place.place.lower() for place in places if place.place.startswith("start/"))
        self._endings = tuple(place.removeprefix("start") for place in starts if place.count("/") > 1 and "*" not in place)
        self._above: set[str] = set()
        self._by_root: dict[str, dict[str, list[Parts]]] = {}
        for file in places:
            for root, parts in _folders(*file.place.lower().split("/")):
                self._by_root.setdefault(root, {}).setdefault(parts[0], []).append(parts[1:])
                if root == "state" and file.use != "config":
                    self._above |= {"/".join(parts[:end]) for end in range(1, len(parts) - (parts[-1] == _REST))}
        self._wild = {root: [name for name in known if "*" in name] for root, known in self._by_root.items()}

    def holds(self, root: str, inside: str) -> bool:
        """Whether a path below a root, in lower case, is one of its places, the folder of one that counts as a whole, or a
        folder of the state that holds code, into which whole folders may be copied or unpacked.
        Wildcards in the path may stand for it, but not for its first name outside of what is the gateway's own: `*/*/*.js`
        are the files of a project."""
        if root == "state" and inside in self._above:
            return True
        first, _, rest = inside.partition("/")
        known = self._by_root.get(root, {})
        if root == "state" and place_globs.GLOB.search(first):
            return any(_fits(first, name) and _matches(rest, place) for name, places in known.items() for place in places)
        if any(_matches(rest, place) for place in known.get(first, ())):
            return True
        wild = self._wild.get(root, ())
        return any(_fits(first, name) and _matches(rest, place) for name in wild for place in known[name])

    def ends(self, path: str) -> bool:
        """Whether a path ends like a place in the folder that the gateway is started in, which is not known. A bare name is
        not enough."""
        return path.endswith(self._endings)


@cache
def bundled() -> StartedPlaces:
    """The places of the bundled list."""
    return StartedPlaces((*started_catalogue.load().places, *_READ_BACK))


def is_started(low: str, home: str, workspace: str) -> bool:
    """Whether an absolute path in lower case is such a place outside of the gateway's state."""
    if inside := _below(low, workspace.lower()):
        return is_started_in_workspace(inside)
    places = bundled()
    inside = _below(low, home.lower())
    if inside and places.holds("home", inside):
        return True
    below = next((low[len(folder) :] for folder in _TEMPORARY if low.startswith(folder)), "")
    return bool(below and places.holds("temporary", below)) or places.ends(low)


def is_started_in_workspace(inside: str) -> bool:
    """The same for a path in lower case below an agent's workspace."""
    return bundled().holds("workspace", inside) or bundled().ends(f"/{inside}")


def _folders(root: str, *parts: str) -> tuple[tuple[str, Parts], ...]:
    """Where a place of the list is. Plugins lie in the state, which lies in the home folder, so both are above code."""
    if root == "agent":
        return (("state", ("agents", "*", *parts)),)
    return (("state", parts), ("home", parts)) if root == "above" else ((root, parts),)


def _matches(rest: str, place: Parts) -> bool:
    parts = rest.split("/")[:_MAX_PARTS] if rest else []
    for at, name in enumerate(place):
        if name == _REST:
            return True
        if at >= len(parts) or not _fits(parts[at], name):
            return False
    return len(parts) == len(place)


def _fits(part: str, name: str) -> bool:
    """Whether a part of a path is this name, or a pattern that matches it."""
    if name in ("*", part):
        return True
    if "*" in name:
        return bool(part) and place_globs.fits(name, part)
    return len(part) <= _MAX_PART and place_globs.GLOB.search(part) is not None and place_globs.fits(part, name)


def _below(path: str, folder: str) -> str:
    folder = folder.rstrip("/")
    return path[len(folder) + 1 :] if folder and path.startswith(f"{folder}/") else ""
