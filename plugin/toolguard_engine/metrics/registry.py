"""Which gateways write here, and under which name: `toolguard_gateways`.

The law: a gateway is known by its state directory, and keeps the name it got first. A name that another one has is made its
own with a number (`home`, `home-2`), so that one name never means two.
"""

from __future__ import annotations

import sqlite3
from itertools import count
from typing import NamedTuple

from toolguard_engine.metrics.bounds import MAX_PATH, clean
from toolguard_engine.stores.transactions import transaction

NAMELESS = "gateway"
_TAKEN = "SELECT 1 FROM toolguard_gateways WHERE id = ?"


class GatewayFacts(NamedTuple):
    """A gateway as its engine knows it. `name`: what it calls itself; `nonces`: where its held calls are kept; `host`: the
    version of OpenClaw, `version` that of toolguard."""

    name: str
    state_dir: str
    config_path: str
    nonces: str
    host: str
    version: str
    mode: str
    pid: int


def claim(connection: sqlite3.Connection, facts: GatewayFacts, now: int) -> str:
    """The name under which this gateway writes; its row says what is so now (milliseconds since 1970)."""
    facts = _bounded(facts)
    with transaction(connection):
        known = connection.execute("SELECT id FROM toolguard_gateways WHERE state_dir = ?", (facts.state_dir,)).fetchone()
        if known is None:
            name = _free(connection, facts.name or NAMELESS)
            connection.execute(_ADD, (name, *facts[1:], now))
        else:
            (name,) = known
            connection.execute(_REPLACE, (*facts[2:], now, name))
    return str(name)


def touch(connection: sqlite3.Connection, name: str, pid: int, now: int) -> None:
    """Its engine lives."""
    connection.execute(_TOUCH, {"now": now, "pid": pid, "name": name})


def _bounded(facts: GatewayFacts) -> GatewayFacts:
    return GatewayFacts(
        name=clean(facts.name),
        state_dir=clean(facts.state_dir, MAX_PATH),
        config_path=clean(facts.config_path, MAX_PATH),
        nonces=clean(facts.nonces, MAX_PATH),
        host=clean(facts.host),
        version=clean(facts.version),
        mode=clean(facts.mode),
        pid=facts.pid,
    )


def _free(connection: sqlite3.Connection, name: str) -> str:
    spellings = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return next(one for one in spellings if connection.execute(_TAKEN, (one,)).fetchone() is None)


_ADD = """
    INSERT INTO toolguard_gateways (id, state_dir, config_path, nonces, host, version, mode, pid, seen)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_REPLACE = """
    UPDATE toolguard_gateways
    SET config_path = ?, nonces = ?, host = ?, version = ?, mode = ?, pid = ?, seen = ? WHERE id = ?"""
_TOUCH = "UPDATE toolguard_gateways SET seen = :now, pid = :pid WHERE id = :name"
