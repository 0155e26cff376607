"""A fleet under load: simulated gateways through PgBouncer in transaction mode, on a temporary PostgreSQL.

`python fleet_load.py --gateways 200 --seconds 600` is test 9 of the fleet's specification; it prints one JSON object. With
`--days 400`, the database keeps so many days.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fleet_days
import fleet_shipping
import psutil
import psycopg
from psycopg import sql

from toolguard_cli.rig.temporary_pgbouncer import ADMIN, NoPgbouncerError, TemporaryPgbouncer
from toolguard_cli.rig.temporary_postgres import NoPostgresError, TemporaryPostgres

WORKER = Path(__file__).with_name("simulated_gateways.py")
GATEWAYS, PERSON = "toolguard_gateway", "bench_person"
SAMPLE_SECONDS = 5.0
FAILED = ("holds without an answer", "holds that were not held", "approvals that were not used")
TABLES = ("held", "held_closed", "decision", "audit", "call", "call_part", "hour", "contact")


@dataclass(frozen=True)
class LoadSettings:
    """`holds`, `rows`, `lines`: in a second, of the whole fleet. `paced`: the server sets the pace of a fleet of so many
    gateways instead of this one's. `days`: that the database keeps, 33 as `fleet init` makes them."""

    gateways: int = 200
    seconds: float = 10.0
    holds: float = 100.0
    rows: float = 1_000.0
    lines: float = 400.0
    workers: int = 2
    ramp: float = 5.0
    pool: int = 20
    paced: int = 0
    days: int = 33


@dataclass
class LoadResult:
    """`times`: milliseconds by kind. `sizes`: bytes that each table grew by, `wal` too. `cpu`: share of one core.
    `fdatasync`: its p50 before and after, in milliseconds. `memory`: of PgBouncer, in bytes."""

    seconds: float = 0.0
    times: dict[str, list[float]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    load: list[float] = field(default_factory=list)
    clients: int = 0
    servers: int = 0
    cpu: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    fdatasync: list[float] = field(default_factory=list)
    memory: int = 0

    def summary(self) -> dict[str, Any]:
        spread = {kind: _spread(found) for kind, found in sorted(self.times.items()) if found}
        return {
            "seconds": round(self.seconds, 1), "load": [round(min(self.load), 1), round(max(self.load), 1)],
            "clients": self.clients, "servers": self.servers, "cpu": self.cpu, "counts": dict(self.counts),
            "fdatasync": self.fdatasync, "memory": self.memory, "errors": dict(self.errors), "milliseconds": spread,
            "bytes": self.sizes,
        }  # fmt: skip


def _spread(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    at = {name: ordered[min(len(ordered) - 1, int(len(ordered) * share))] for name, share in _SHARES.items()}
    return {"count": len(ordered), **at, "max": ordered[-1]}


_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def run(settings: LoadSettings) -> LoadResult:
    """Raises `NoPostgresError`, `NoPgbouncerError`."""
    password = secrets.token_urlsafe(16)
    with TemporaryPostgres() as server:
        gateways = _prepare(server, settings, password)
        _pace(server, settings.paced or settings.gateways)
        with (
            TemporaryPgbouncer(server, {GATEWAYS: _secret(server)}, pool=settings.pool) as bouncer,
            tempfile.TemporaryDirectory(prefix="toolguard-load-") as folder,
        ):
            passfile = Path(folder) / "passwords"
            passfile.touch(mode=0o600)
            passfile.write_text(f"*:*:*:*:{password}\n")
            tasks = list(_tasks(settings, gateways, bouncer, server, Path(folder), passfile))
            return _measured(settings, tasks, server, bouncer)


def _prepare(server: TemporaryPostgres, settings: LoadSettings, password: str) -> list[tuple[str, str]]:
    """The schema, the logins, and admitted gateways: id and token."""
    gateways = [(f"gw-{secrets.token_hex(8)}", secrets.token_bytes(32)) for _ in range(settings.gateways)]
    with psycopg.connect(server.dsn(), autocommit=True) as owner:
        fleet_days.make_days(owner, settings.days)
        secret = sql.Literal(password)
        owner.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(GATEWAYS), secret))
        owner.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(PERSON), secret))
        owner.execute("SELECT fleet.add_approver('person', %s, 'approver', %s)", (PERSON, ["ops"]))
        with owner.cursor() as cursor, owner.transaction():
            joined = [(name, token, "ops") for name, token in gateways]
            cursor.executemany("SELECT fleet.join(%s, sha256(%s), %s, 'host', '1')", joined)
            cursor.executemany("SELECT fleet.admit(%s)", [(name,) for name, _ in gateways])
    return [(name, token.hex()) for name, token in gateways]


def _secret(server: TemporaryPostgres) -> str:
    """What docs/fleet.md says to put into the file of PgBouncer. With the password itself, it would compute the 4,096 rounds
    of SCRAM for each client: 3.5 ms instead of 0.2 ms."""
    with psycopg.connect(server.dsn()) as owner:
        row = owner.execute("SELECT rolpassword FROM pg_authid WHERE rolname = %s", (GATEWAYS,)).fetchone()
    assert row is not None
    return str(row[0])


def _pace(server: TemporaryPostgres, gateways: int) -> None:
    """The server reckons its pace from the statistics of this table."""
    with psycopg.connect(server.dsn(), autocommit=True) as owner:
        owner.execute("ALTER TABLE fleet.gateway SET (autovacuum_enabled = false)")
        owner.execute("UPDATE pg_class SET reltuples = %s WHERE oid = 'fleet.gateway'::regclass", (gateways,))


def _tasks(
    settings: LoadSettings, gateways: list[tuple[str, str]], bouncer: TemporaryPgbouncer, server: TemporaryPostgres,
    folder: Path, passfile: Path,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """What each worker does: an equal share."""
    for number in range(settings.workers):
        mine = gateways[number :: settings.workers]
        share = len(mine) / len(gateways)
        yield {
            "dsn": f"{bouncer.dsn(GATEWAYS, 'postgres')} passfile={passfile}",
            "person": f"{server.dsn(PERSON)} passfile={passfile}", "gateways": mine, "folder": str(folder),
            "seconds": settings.seconds, "ramp": settings.ramp, "holds": settings.holds * share,
            "rows": settings.rows * share, "lines": settings.lines * share,
        }  # fmt: skip


def _measured(
    settings: LoadSettings, tasks: list[dict[str, Any]], server: TemporaryPostgres, bouncer: TemporaryPgbouncer
) -> LoadResult:
    result = LoadResult()
    workers: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as folder, psycopg.connect(server.dsn(), autocommit=True) as owner:
        outputs = [Path(folder) / str(number) for number in range(len(tasks))]
        try:
            result.fdatasync.append(fleet_shipping.fdatasync(server.data).value / 1000)
            begun, before = time.monotonic(), _state(owner, server, bouncer)
            workers += [_started(task, output) for task, output in zip(tasks, outputs, strict=True)]
            _sample(result, workers, owner, bouncer, settings)
            result.seconds = time.monotonic() - begun
            after = _state(owner, server, bouncer)
            result.fdatasync.append(fleet_shipping.fdatasync(server.data).value / 1000)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        for output in outputs:
            _add(result, output.read_bytes())
    result.cpu |= {name: after[0][name] - before[0][name] for name in after[0]}
    result.cpu = {name: round(spent / result.seconds, 3) for name, spent in result.cpu.items()}
    result.sizes = {name: after[1][name] - before[1][name] for name in after[1]}
    return result


def _started(task: dict[str, Any], output: Path) -> subprocess.Popen[bytes]:
    with output.open("wb") as file:
        worker = subprocess.Popen([sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=file, cwd="/")
    assert worker.stdin is not None
    worker.stdin.write(json.dumps(task).encode())
    worker.stdin.close()
    return worker


def _sample(
    result: LoadResult,
    workers: list[subprocess.Popen[bytes]],
    owner: psycopg.Connection[Any],
    bouncer: TemporaryPgbouncer,
    settings: LoadSettings,
) -> None:
    """Sample until all workers have ended."""
    limit = time.monotonic() + settings.seconds * 3 + 300
    result.load.append(os.getloadavg()[0])
    while any(worker.poll() is None for worker in workers):
        if time.monotonic() > limit:
            raise SystemExit("the simulated gateways did not end in time")
        time.sleep(min(SAMPLE_SECONDS, settings.seconds / 4))
        result.load.append(os.getloadavg()[0])
        result.cpu["simulation"] = max(result.cpu.get("simulation", 0.0), sum(map(_spent, workers)))
        result.memory = max(result.memory, psutil.Process(bouncer.pid).memory_info().rss)
        result.clients = max(result.clients, _clients(bouncer))
        row = owner.execute("SELECT count(*) FROM pg_stat_activity WHERE usename = %s", (GATEWAYS,)).fetchone()
        result.servers = max(result.servers, row[0] if row else 0)


def _spent(worker: subprocess.Popen[bytes]) -> float:
    try:
        times = psutil.Process(worker.pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def _clients(bouncer: TemporaryPgbouncer) -> int:
    dsn = f"{bouncer.dsn(ADMIN, 'pgbouncer')} password={ADMIN}"
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as admin:
        rows = admin.execute("SHOW POOLS").fetchall()
    return sum(int(row[2]) + int(row[3]) for row in rows if row[1] == GATEWAYS)


def _state(
    owner: psycopg.Connection[Any], server: TemporaryPostgres, bouncer: TemporaryPgbouncer
) -> tuple[dict[str, float], dict[str, int]]:
    """CPU seconds by now, and bytes."""
    whole = psutil.Process(server.pid)
    spent = [each.cpu_times() for each in (whole, *whole.children(recursive=True))]
    own = whole.cpu_times()
    reaped = own.children_user + own.children_system
    seconds = {"postgres": sum(each.user + each.system for each in spent) + reaped}
    times = psutil.Process(bouncer.pid).cpu_times()
    seconds["pgbouncer"] = times.user + times.system
    sizes = {name: _size(owner, name) for name in TABLES}
    row = owner.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").fetchone()
    return seconds, {**sizes, "wal": row[0] if row else 0}


def _size(owner: psycopg.Connection[Any], table: str) -> int:
    """The size of all partitions with their indexes."""
    statement = """SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint FROM pg_partition_tree(%s::regclass)"""
    row = owner.execute(statement, (f"fleet.{table}",)).fetchone()
    plain = owner.execute("SELECT pg_total_relation_size(%s::regclass)", (f"fleet.{table}",)).fetchone()
    return int(row[0] if row and row[0] else plain[0] if plain else 0)


def _add(result: LoadResult, output: bytes) -> None:
    found = json.loads(output)
    for kind, times in found["times"].items():
        result.times.setdefault(kind, []).extend(times)
    result.counts.update(found["counts"])
    result.errors.update(dict(found["errors"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in vars(LoadSettings()).items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    try:
        found = run(LoadSettings(**vars(parser.parse_args())))
    except (NoPostgresError, NoPgbouncerError) as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(found.summary(), indent=2))
    return 1 if found.errors else 0


if __name__ == "__main__":
    sys.exit(main())
