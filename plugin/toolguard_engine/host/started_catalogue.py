"""The list of files that the gateway runs, imports, sources or is configured by, without being asked to: its form.

`scripts/build_started_files` finds them by tracing the real gateway. Paths begin with one of `ROOTS`; `*` stands for any
name, `**` for everything below.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from toolguard_engine import packaged

MADE = "started_files.json"
Use = Literal["runs", "sourced", "imported", "config"]
ROOTS = ("state", "agent", "home", "workspace", "start", "temporary", "above")
"""The gateway's state, the agent's folder in it, the user's home, the agent's workspace, the folder that the gateway was
started in, the system's folder for temporary files, and every folder that the gateway's code lies in."""


class StartedFile(msgspec.Struct, frozen=True, order=True):
    """`present`: it was there in one of `releases`; otherwise they only looked for it, and would have used it if somebody
    had made it."""

    place: str
    use: Use
    present: bool
    releases: tuple[str, ...] = ()


class StartedList(msgspec.Struct, frozen=True):
    """`releases`: those that were traced."""

    releases: tuple[str, ...]
    places: tuple[StartedFile, ...]

    def get(self, release: str) -> frozenset[StartedFile]:
        """What was found in one release."""
        return frozenset(msgspec.structs.replace(place, releases=()) for place in self.places if release in place.releases)

    def with_release(self, release: str, files: frozenset[StartedFile]) -> StartedList:
        """The same list with these places as what the release does."""
        releases = tuple(sorted({*self.releases, release}, key=_parts, reverse=True))
        by_release = {name: files if name == release else self.get(name) for name in releases}
        places: dict[tuple[str, Use], StartedFile] = {}
        for name, files_of_it in by_release.items():
            for file in files_of_it:
                key = file.place, file.use
                before = places.get(key, StartedFile(*key, present=False))
                places[key] = StartedFile(*key, before.present or file.present, (*before.releases, name))
        return StartedList(releases, tuple(sorted(places.values())))


@cache
def load() -> StartedList:
    """The bundled list."""
    return msgspec.json.decode(packaged.FOLDER.joinpath(MADE).read_bytes(), type=StartedList)


def encode(started: StartedList) -> str:
    lines = ",\n".join(f"  {msgspec.json.encode(place).decode()}" for place in started.places)
    releases = msgspec.json.encode(started.releases).decode()
    return f'{{\n "releases": {releases},\n "places": [\n{lines}\n ]\n}}\n'


def _parts(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.partition("-")[0].split(".") if part.isdecimal())
