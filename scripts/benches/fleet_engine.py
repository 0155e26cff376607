"""What an engine in a fleet takes: a safe call while the server is frozen, the kill switch, the memory of the courier."""

from __future__ import annotations

import secrets
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import psutil
import psycopg
from everyday import commands
from figures import Figure, quantile
from psycopg import sql
from stuck import HELD_SECONDS, MANY, SAFE_MS, SAFE_RATIO, WARM_UP, Driven, in_turns

from toolguard_cli.rig.temporary_postgres import TemporaryPostgres
from toolguard_engine.stores.fleet import fleet_identity
from toolguard_engine.stores.fleet.fleet_identity import FleetIdentity
from toolguard_fleet import schema

DATABASE, TEAM = "bench_engine", "ops"
COURIER_MB, KILL_SECONDS = 50, 1.3
"""The pace of a small fleet is 1 s, spread by 10 %; and 0.2 s."""

PATIENCE = 60.0


def measure(server: TemporaryPostgres, seconds: float, kills: int) -> Iterator[Figure]:
    """Measure on a database of its own of this server, which is frozen for so many seconds."""
    with psycopg.connect(server.dsn(), autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {DATABASE}")
    with ExitStack() as kept:
        folder = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="toolguard-bench-")))
        owner = kept.enter_context(psycopg.connect(server.dsn(database=DATABASE), autocommit=True))
        fleet = _joined(owner, server, folder)
        member = kept.enter_context(Driven(folder / "member", {"metrics": {"enabled": False}, "fleet": fleet}))
        alone = kept.enter_context(Driven(folder / "alone"))
        _until_held(member)
        courier = next(each for each in _family(member) if "toolguard_fleet" in each.cmdline())
        yield Figure("memory of the courier", courier.memory_info().rss / 1e6, "MB", "resident", COURIER_MB)
        times = [_kill(owner, member, number) for number in range(kills)]
        beside = f"longest {max(times):.2f} s, {kills} times"
        yield Figure("fleet kill to first block, p50", statistics.median(times), "s", beside, KILL_SECONDS)
        yield from _frozen(server, member, alone, seconds)


def _joined(owner: psycopg.Connection[Any], server: TemporaryPostgres, folder: Path) -> dict[str, Any]:
    """The settings `fleet.*` of a gateway that is admitted."""
    schema.migrate(owner, days_ahead=1)
    made = FleetIdentity(f"gw-{secrets.token_hex(8)}", secrets.token_bytes(32), TEAM)
    owner.execute("SELECT fleet.join(%s, sha256(%s), %s, 'host', '1')", (made.id, made.token, TEAM))
    owner.execute("SELECT fleet.admit(%s)", (made.id,))
    password, passwords = secrets.token_urlsafe(16), folder / "passwords"
    owner.execute(sql.SQL("ALTER ROLE toolguard_gateway PASSWORD {}").format(sql.Literal(password)))
    passwords.touch(mode=0o600)
    passwords.write_text(f"*:*:*:*:{password}\n")
    place = fleet_identity.path(folder / "member")
    place.parent.mkdir(parents=True)
    place.touch(mode=0o600)
    place.write_bytes(msgspec.json.encode(made))
    (folder / "alone").mkdir()
    (folder / "trust").mkdir()
    (folder / "trust" / "allowed_signers").touch()
    dsn = f"{server.dsn('toolguard_gateway', DATABASE)} passfile={passwords}"
    return {"enabled": True, "dsn": dsn, "team": TEAM, "trust": str(folder / "trust"), "trustWritable": True}


def _family(engine: Driven) -> list[psutil.Process]:
    return psutil.Process(engine.process.pid).children(recursive=True)


def _until_held(engine: Driven) -> None:
    """The first question may come before the courier has found the database."""
    limit, number = time.monotonic() + PATIENCE, 0
    while engine.code != "approval.pending":
        if time.monotonic() > limit:
            raise SystemExit(f"no call was held: {engine.code}")
        engine.hold(number := number + 1)
        engine.wait()
        time.sleep(0.2)
    engine.held.clear()


def _kill(owner: psycopg.Connection[Any], engine: Driven, number: int) -> float:
    """Seconds until the first call is blocked. The switch is off again when it returns."""
    time.sleep(number / 7 % 1)  # at any moment of the pace
    set_switch = "SELECT fleet.kill(%s, %s, 'bench')"
    begun = time.perf_counter()
    owner.execute(set_switch, (TEAM, True))
    _until(engine, "block")
    taken = time.perf_counter() - begun
    owner.execute(set_switch, (TEAM, False))
    _until(engine, "allow")
    return taken


def _until(engine: Driven, decision: str) -> None:
    limit = time.monotonic() + PATIENCE
    while engine.ask("ls", measured=False) != decision:
        if time.monotonic() > limit:
            raise SystemExit(f"no call had the verdict {decision}")
        time.sleep(0.005)


def _frozen(server: TemporaryPostgres, member: Driven, alone: Driven, seconds: float) -> Iterator[Figure]:
    texts = commands(60, MANY)
    for number in range(WARM_UP):
        in_turns([member, alone], texts, number, measured=False)
    with stopped(server):
        until, number, holds = time.perf_counter() + seconds, 0, 10_000
        while time.perf_counter() < until:
            if not any(engine.waits for engine in (member, alone)):
                holds += 1
                for engine in (member, alone):
                    engine.hold(holds)
            in_turns([member, alone], texts, number := number + 1, measured=True)
        member.wait()
    slow, quick = (quantile(engine.safe, 0.99) for engine in (member, alone))
    half = quantile(member.safe, 0.5) / quantile(alone.safe, 0.5)
    yield Figure("the server is frozen: safe call, p99", slow, "ms", f"{quick:.2f} ms without a fleet", SAFE_MS)
    yield Figure("... in times of an engine without a fleet, p99", slow / quick, "x", f"p50: {half:.2f} x", SAFE_RATIO)
    beside = f"p50 {statistics.median(member.held):.2f} s, {len(member.held)} calls"
    yield Figure("... longest until a held call was answered", max(member.held), "s", beside, HELD_SECONDS)
    yield Figure("... held calls that ran", member.ran, "", promise=0)


@contextmanager
def stopped(server: TemporaryPostgres) -> Iterator[None]:
    whole = psutil.Process(server.pid)
    processes = [whole, *whole.children(recursive=True)]
    try:
        for each in processes:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGSTOP)
        yield
    finally:
        for each in processes:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGCONT)
