"""The rules of a profile: pure, from the settings and from where things are on this machine.

Folders are hidden rather than files: a mask lies on what is there, and falls off when another file takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Final

from toolguard_engine.config.containment_settings import ContainmentConfig
from toolguard_engine.containment import credential_doors, masked_sockets, room_tables
from toolguard_engine.containment.room_places import RoomPlaces
from toolguard_engine.containment.rules import STARTUP, RoomRule
from toolguard_engine.effects.facts.place_names import HOME_CACHES
from toolguard_engine.host import metrics_path

STATE_NAMES: Final = (".openclaw", ".clawdbot")
_LIMITING: Final = ("workspace", "offline")
_WITH_SECRETS: Final = ("secrets", *_LIMITING)


def profile(settings: ContainmentConfig, places: RoomPlaces, agent: str = "") -> tuple[RoomRule, ...]:
    """The rules for an agent's commands, by the settings that hold for it; none for the profile `off`.

    All agents of a profile have the same rules: their commands are to find each other.
    """
    del agent
    if settings.profile == "off":
        return ()
    rules = [*_own_files(places), *_startup(places), *_doors(places)]
    if settings.profile in _WITH_SECRETS:
        rules += _credentials(places)
    if settings.profile in _LIMITING:
        rules += _limits(settings, places)
    if settings.profile == "offline":
        rules.append(RoomRule("offline", Path("/")))
    return tuple(dict.fromkeys(rules))


def _own_files(places: RoomPlaces) -> Iterator[RoomRule]:
    """The state of the gateway, and what it and the guard are made of."""
    host = places.host
    states, named = _states(places), room_tables.load().state
    yield from (RoomRule("hide", state) for state in states)
    for state in states:
        yield from (RoomRule("show", state / name) for name in named.shown)
        yield from (RoomRule("read-only", state / name) for name in named.read_only)
        yield from (RoomRule("read-only", state / "agents" / agent / "sessions") for agent in places.agents)
    guards = [state / "toolguard" for state in states]
    inside = [path for path in map(Path, places.workspaces) if _is_in(path, states) and not _is_in(path, guards)]
    yield from (RoomRule("show", path) for path in inside)
    yield from (RoomRule("read-only", Path(path, name)) for path in places.workspaces for name in named.loaded)
    yield from (RoomRule("read-only", Path(path)) for path in (*host.code, *places.interpreters))
    yield from (RoomRule("show", Path(path)) for path in places.packages)
    secret = [host.config_path, *host.secrets, *(host.metrics + end for end in metrics_path.SECRETS if host.metrics)]
    changed = [*host.guarded, *(host.metrics + end for end in metrics_path.ENDS if host.metrics)]
    outside = [path for path in secret if path and not _is_in(Path(path), states)]
    yield from (RoomRule("hide", Path(path)) for path in outside)
    yield from (
        RoomRule("read-only", Path(path)) for path in changed if not _is_in(Path(path), states) and path not in secret
    )


def _states(places: RoomPlaces) -> list[Path]:
    named = [places.host.state_dir, *(f"{places.host.home}/{name}" for name in STATE_NAMES)]
    return list(dict.fromkeys(Path(path) for path in named if path.startswith("/")))


def _is_in(path: PurePath, folders: list[Path]) -> bool:
    return any(path == folder or folder in path.parents for folder in folders)


def _startup(places: RoomPlaces) -> Iterator[RoomRule]:
    home = Path(places.host.home)
    yield from (RoomRule("read-only", home / name, STARTUP) for name in room_tables.load().home.startup)
    yield from (RoomRule("own", Path(path)) for path in room_tables.load().system.own)


def _doors(places: RoomPlaces) -> Iterator[RoomRule]:
    yield from (RoomRule("hide", Path(path), door) for door, path in masked_sockets.sockets(places))


def _credentials(places: RoomPlaces) -> Iterator[RoomRule]:
    home = places.host.home
    yield from (RoomRule("hide", Path(path), door) for door, path in credential_doors.places(home))
    yield from (RoomRule("show", Path(path), door) for door, path in credential_doors.shown(home))


def _limits(settings: ContainmentConfig, places: RoomPlaces) -> Iterator[RoomRule]:
    """Everything is read-only but the workspaces, temporary folders, caches and what the settings add."""
    home, tables = places.host.home, room_tables.load()
    yield RoomRule("read-only", Path("/"))
    writable = [
        *tables.system.writable,
        *places.workspaces,
        *(f"{home}/{name}".rstrip("/") for name in HOME_CACHES if "Library" not in name),
    ]
    writable += [home + path[1:] if path.startswith("~/") else path for path in settings.write]
    writable += [str(state / name) for state in _states(places) for name in tables.state.shown]
    writable += [places.runtime or f"/run/user/{places.uid}"]
    yield from (RoomRule("write", Path(path)) for path in writable)
