"""How fast audit lines and metrics rows reach the fleet's database, from the files of one gateway, each by one client.

Everything is written as in use: the server syncs each transaction, the lines are chained by the engine's own code, the
shippers are those of the courier. `fdatasync` is measured on the server's disk in the same run.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from figures import Figure

from toolguard_cli.rig.temporary_postgres import TemporaryPostgres
from toolguard_engine.metrics import database, registry
from toolguard_engine.metrics.registry import GatewayFacts
from toolguard_engine.metrics.row_writer import CallRecord, record
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.audit_log import AuditEvent, when
from toolguard_engine.stores.transactions import transaction
from toolguard_fleet import schema
from toolguard_fleet.audit_trail import AuditTrail
from toolguard_fleet.deadline_connection import DeadlineConnection
from toolguard_fleet.shipping.audit_shipper import AuditShipper
from toolguard_fleet.shipping.gateway_connection import GatewayConnection
from toolguard_fleet.shipping.metrics_shipper import MetricsShipper

SYNCS = 300
LEAST_LINES = 4_000
SHOWN = "exec rm -rf ./build && npm run deploy -- --target staging --region eu-west-1 --note " + "x" * 120
"""Makes a line as long as those of the specification: some 545 bytes."""


def measure(server: TemporaryPostgres, rows: int) -> Iterator[Figure]:
    """`rows`: audit lines, and as many model calls. The server is fresh."""
    yield Figure("load of the machine, 1 minute", os.getloadavg()[0], "", f"{os.cpu_count()} cores")
    yield fdatasync(server.data)
    with psycopg.connect(server.dsn(), autocommit=True) as owner, tempfile.TemporaryDirectory() as folder:
        schema.migrate(owner)
        gateway, token = f"gw-{secrets.token_hex(8)}", secrets.token_bytes(32)
        owner.execute("SELECT fleet.join(%s, sha256(%s), 'ops', 'host', '1')", (gateway, token))
        owner.execute("SELECT fleet.admit(%s)", (gateway,))
        state_dir = Path(folder)
        size = _write_log(state_dir, rows)
        _write_metrics(state_dir, rows)
        link = GatewayConnection(DeadlineConnection(server.dsn(), "bench"), gateway, token, 60.0)
        yield from asyncio.run(_ship(link, state_dir, rows, size))
        begun = time.perf_counter()
        lines = sum(found.lines for found in AuditTrail(owner).verify())
        yield Figure("audit verify", lines / (time.perf_counter() - begun), "lines/s")
        yield Figure("audit line in the database", _bytes_of(owner, "audit") / rows, "B", f"{size / rows:.0f} B in the file")
        yield Figure("metrics row in the database", _bytes_of(owner, "call") / rows, "B")


async def _ship(link: GatewayConnection, state_dir: Path, rows: int, size: int) -> list[Figure]:
    shipper = AuditShipper(link, state_dir)
    begun = time.perf_counter()
    while await shipper.step():
        pass
    audit = time.perf_counter() - begun
    metrics = MetricsShipper(link, state_dir, state_dir / "metrics.db")
    begun = time.perf_counter()
    while await metrics.step():
        pass
    took = time.perf_counter() - begun
    await link.close_idle(0)
    assert (shipper.progress.sent, metrics.progress.sent) == (rows, rows)
    return [
        Figure("audit lines", rows / audit, "lines/s", f"{size / rows:.0f} B each, 500 a batch", LEAST_LINES, least=True),
        Figure("metrics rows, with their sums", rows / took, "rows/s", "500 a batch"),
    ]


def fdatasync(folder: Path) -> Figure:
    """The median of 8 kB written and synced on the disk of this folder."""
    times = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(SYNCS):
            os.pwrite(file.fileno(), b"x" * 8192, 0)
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - begun) * 1e6)
    high = statistics.quantiles(times, n=100)[98]
    return Figure("fdatasync of 8 kB, p50", statistics.median(times), "us", f"p99 {high:.0f} us")


def _write_log(state_dir: Path, lines: int) -> int:
    (state_dir / "toolguard").mkdir()
    log = stores.audit_log(state_dir)
    code = "rule.delete-important"
    for first in range(0, lines, 1_000):
        log.append(
            AuditEvent(secrets.token_hex(8), when(time.time()), "hold", code, secrets.token_hex(4), "exec", "main",
                "agent:main:main", secrets.token_hex(16), shown=f"{SHOWN} {number}")
            for number in range(first, min(first + 1_000, lines))
        )  # fmt: skip
    return sum(path.stat().st_size for path in log.files())


def _write_metrics(state_dir: Path, rows: int) -> None:
    facts = GatewayFacts("bench", str(state_dir), "", "", "", "", "enforce", 1)
    now = time.time_ns() // 1_000_000
    with closing(database.connect(state_dir / "metrics.db")) as connection:
        name = registry.claim(connection, facts, now)
        with transaction(connection):
            record(connection, [
                CallRecord(now - number, name, "main", f"agent:main:{number % 50}", "chat", "anthropic", "model",
                    1_200, 300, 9_000, 0, 10_500, 0.0123, 0, 2_100, "completed")
                for number in range(rows)
            ])  # fmt: skip


def _bytes_of(owner: psycopg.Connection[Any], table: str) -> float:
    """The size of today's partition with its indexes; the others are empty."""
    statement = "SELECT max(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = %s::regclass"
    row = owner.execute(statement, (f"fleet.{table}",)).fetchone()
    return float(row[0]) if row else 0.0
