"""The names that the rules of a room are made from: `containment.toml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from toolguard_engine import packaged

Names = Sequence[str]


class _State(msgspec.Struct):
    shown: Names
    read_only: Names
    loaded: Names


class _Home(msgspec.Struct):
    startup: Names


class _System(msgspec.Struct):
    own: Names
    writable: Names
    programs: tuple[str, ...]


class _Shell(msgspec.Struct):
    renaming: frozenset[str]
    setting: frozenset[str]
    harmless: frozenset[str]


class _Git(msgspec.Struct):
    quiet: frozenset[str]


class _Ssh(msgspec.Struct):
    shown: Names


class _Tools(msgspec.Struct):
    no_files: frozenset[str]
    listing: frozenset[str]


class RoomTables(msgspec.Struct):
    """What the tables mean stands in the file."""

    state: _State
    home: _Home
    system: _System
    shell: _Shell
    git: _Git
    ssh: _Ssh
    tools: _Tools
    sockets: Mapping[str, Names]
    owners: Mapping[str, Names]
    owners_in_config: Mapping[str, Names]
    paths_in_config: Mapping[str, str]


@cache
def load() -> RoomTables:
    return msgspec.convert(packaged.table("containment.toml"), RoomTables)
