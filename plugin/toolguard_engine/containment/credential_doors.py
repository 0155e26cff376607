"""Credentials in the home folder, and the programs that need them: each program opens a door to its own."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.containment import room_tables
from toolguard_engine.effects.facts.place_names import HOME_SECRETS

KEYS = "keys:"
"""What the doors to credentials begin with."""

_OF_THE_GATEWAY = (".openclaw", ".clawdbot")


def places(home: str) -> Iterator[tuple[str, str]]:
    """(door, path) of what is hidden."""
    yield f"{KEYS}.ssh", f"{home}/.ssh"
    paths = room_tables.load().paths_in_config
    for first, inner in HOME_SECRETS.items():
        if first in _OF_THE_GATEWAY or first == "Library":
            continue
        for name in inner or ("",):
            yield _door(first, name), f"{home}/{first}/{paths.get(name, name)}".rstrip("/")


def shown(home: str) -> Iterator[tuple[str, str]]:
    """(door of what hides it, path): not secret, and read by every program that connects somewhere."""
    yield from ((f"{KEYS}.ssh", f"{home}/.ssh/{name}") for name in room_tables.load().ssh.shown)


def owners() -> frozenset[str]:
    """All programs that have credentials of their own."""
    tables = room_tables.load()
    return frozenset(
        name for table in (tables.owners, tables.owners_in_config) for names in table.values() for name in names
    )


def opened_by(program: str) -> Iterator[str]:
    """The doors to the credentials that belong to a program."""
    tables = room_tables.load()
    yield from (f"{KEYS}{first}" for first, owners in tables.owners.items() if program in owners)
    yield from (f"{KEYS}.config/{name}" for name, owners in tables.owners_in_config.items() if program in owners)


def _door(first: str, name: str) -> str:
    return f"{KEYS}{first}/{name}" if first == ".config" else f"{KEYS}{first}"
