"""The catalogue of what OpenClaw makes of paths: its form, and how it is put together.

`path_repairs.toml` describes the repairs. `scripts/build_path_repairs` finds out which tool of which release makes them.
`path_repairs.json` holds both.
"""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Literal

import msgspec

from toolguard_engine import packaged

SOURCE = "path_repairs.toml"
MADE = "path_repairs.json"
Kind = Literal["cut", "url", "store", "similar", "drive", "home"]
At = Literal["start", "end", "both", "anywhere"]
Releases = dict[str, dict[str, tuple[str, ...]]]


class PathRepair(msgspec.Struct, frozen=True, omit_defaults=True):
    """See `path_repairs.toml`. `probe`, `file`: what tells whether a tool makes it."""

    name: str
    kind: Kind
    pattern: str = ""
    at: At = "start"
    put: str = ""
    ignore_case: bool = False
    maybe: bool = False
    probe: str = ""
    file: str = ""


class RepairCatalogue(msgspec.Struct, frozen=True):
    """`parameters`: those that hold paths, by tool; `patches`: the tools whose parameters are patches that name them;
    `releases`: the names of the repairs, by release and tool."""

    repairs: tuple[PathRepair, ...]
    parameters: dict[str, tuple[str, ...]]
    patches: frozenset[str] = frozenset()
    releases: Releases = {}


@cache
def load() -> RepairCatalogue:
    """The bundled catalogue."""
    return msgspec.json.decode(packaged.FOLDER.joinpath(MADE).read_bytes(), type=RepairCatalogue)


def from_toml(releases: Releases) -> RepairCatalogue:
    """The catalogue with the repairs of its source. Raises `msgspec.ValidationError` if the source has another form."""
    source = tomllib.loads(packaged.FOLDER.joinpath(SOURCE).read_text("utf-8"))
    return msgspec.convert({**source, "releases": releases}, RepairCatalogue)


def encode(catalogue: RepairCatalogue) -> str:
    """Encodes what the file holds: without what only the trials need, the newest release first."""
    repairs = tuple(msgspec.structs.replace(repair, probe="", file="") for repair in catalogue.repairs)
    releases = {name: catalogue.releases[name] for name in sorted(catalogue.releases, key=_parts, reverse=True)}
    bare = msgspec.structs.replace(catalogue, repairs=repairs, releases=releases)
    return msgspec.json.format(msgspec.json.encode(bare), indent=1).decode() + "\n"


def _parts(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.partition("-")[0].split(".") if part.isdecimal())
