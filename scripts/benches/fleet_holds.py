"""What one client waits for the fleet's database: a held call from question to use, by question; and the heartbeat."""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import psycopg
from figures import Figure, milliseconds, quantile
from fleet_shipping import fdatasync

from toolguard_cli.rig.temporary_postgres import TemporaryPostgres
from toolguard_fleet import schema

PRESENT = "SELECT fleet.present(%s, %s, %s, %s, %s, 'main', '', %s, %s, 3600, 1, '{}', 600)"
PERSON = "bench_holder"
SYNC_SECONDS = 3.0


def measure(server: TemporaryPostgres, holds: int) -> Iterator[Figure]:
    """Measure on a database of its own of this server."""
    synced = fdatasync(server.data).value / 1000
    with psycopg.connect(server.dsn(), autocommit=True) as owner:
        owner.execute("CREATE DATABASE bench_holds")
    dsn = server.dsn(database="bench_holds")
    with (
        psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection,
        psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as person,
    ):
        schema.migrate(connection, days_ahead=1)
        who = f"gw-{secrets.token_hex(8)}", secrets.token_bytes(32)
        connection.execute("SELECT fleet.join(%s, sha256(%s), 'ops', 'host', '1')", who)
        connection.execute("SELECT fleet.admit(%s)", who[:1])
        connection.execute(f"CREATE ROLE {PERSON} LOGIN")
        connection.execute("SELECT fleet.add_approver('bench', %s, 'approver', '{ops}')", (PERSON,))
        person.execute(f"SET SESSION AUTHORIZATION {PERSON}")
        times: dict[str, list[float]] = {"present": [], "decide": [], "use": []}
        for _ in range(holds):
            _one(connection, person, who, times)
        goal = 2 * synced + 1
        for name, taken in times.items():
            p99 = f"p99 {quantile(taken, 0.99):.2f} ms; fdatasync p50 {synced:.2f} ms"
            yield Figure(f"{name}, p50, 1 client", statistics.median(taken), "ms", p99, round(goal, 2))
        yield Figure("sync, 1 client", _syncs(connection, who), "/s", "statements without news")


def _one(
    connection: psycopg.Connection[Any],
    person: psycopg.Connection[Any],
    who: tuple[str, bytes],
    times: dict[str, list[float]],
) -> None:
    binding, nonce = secrets.token_hex(32), secrets.token_hex(6)
    entry = b"{" + b"x" * 700 + b"}"

    def present() -> None:
        arguments = (*who, secrets.token_bytes(16), nonce, binding, sha256(entry).digest(), entry)
        connection.execute(PRESENT, arguments).fetchone()

    def decide() -> None:
        arguments = (who[0], nonce, b"b" * 420, b"s" * 300)
        person.execute("SELECT fleet.decide(%s, %s, 'approved', %s, %s, '')", arguments).fetchone()

    times["present"].append(milliseconds(present))
    times["decide"].append(milliseconds(decide))
    times["use"].append(milliseconds(present))


def _syncs(connection: psycopg.Connection[Any], who: tuple[str, bytes]) -> float:
    count, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < SYNC_SECONDS:
        connection.execute("SELECT fleet.sync(%s, %s, '{}', '1')", who).fetchone()
        count += 1
    return count / (time.perf_counter() - begun)
