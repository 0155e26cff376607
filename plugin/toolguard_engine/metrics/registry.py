"""The gateways that write here and their names: `toolguard_gateways`.

Invariant: a gateway is identified by its state directory and keeps its first name. A name that is taken gets a number
(`home`, `home-2`), so that names are unique.
"""

from __future__ import annotations

import sqlite3
from itertools import count
from typing import NamedTuple

from toolguard_engine.config.settings import Retention
from toolguard_engine.metrics.bounds import MAX_PATH, clean
from toolguard_engine.stores.transactions import transaction

NAMELESS = "gateway"
USUAL = Retention()
_TAKEN = "SELECT 1 FROM toolguard_gateways WHERE id = ?"


class GatewayFacts(NamedTuple):
    """A gateway as its engine reports it. `name`: its own name; `nonces`: the file of its held calls; `host`: the version of
    OpenClaw, `version` that of toolguard."""

    name: str
    state_dir: str
    config_path: str
    nonces: str
    host: str
    version: str
    mode: str
    pid: int


def claim(connection: sqlite3.Connection, facts: GatewayFacts, now: int, kept: Retention = USUAL) -> str:
    """The name of this gateway; updates its row (milliseconds since 1970). `kept`: its retention."""
    facts = _bounded(facts)
    days = (kept.raw_days, kept.hourly_days, kept.daily_days)
    with transaction(connection):
        known = connection.execute("SELECT id FROM toolguard_gateways WHERE state_dir = ?", (facts.state_dir,)).fetchone()
        if known is None:
            name = _free(connection, facts.name or NAMELESS)
            connection.execute(_ADD, (name, *facts[1:], *days, now))
        else:
            (name,) = known
            connection.execute(_REPLACE, (*facts[2:], *days, now, name))
    return str(name)


def touch(connection: sqlite3.Connection, name: str, facts: GatewayFacts, now: int) -> None:
    """Its engine is running. Another one of the same state directory may have been here meanwhile (an agent's run without
    the gateway), so what differs between the two is written again."""
    connection.execute(_TOUCH, {"now": now, "pid": facts.pid, "mode": clean(facts.mode), "name": name})


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
    INSERT INTO toolguard_gateways (
        id, state_dir, config_path, nonces, host, version, mode, pid, raw_days, hourly_days, daily_days, seen
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_REPLACE = """
    UPDATE toolguard_gateways
    SET config_path = ?, nonces = ?, host = ?, version = ?, mode = ?, pid = ?,
        raw_days = ?, hourly_days = ?, daily_days = ?, seen = ? WHERE id = ?"""
_TOUCH = "UPDATE toolguard_gateways SET seen = :now, pid = :pid, mode = :mode WHERE id = :name"
