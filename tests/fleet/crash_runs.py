"""Runs processes that are killed, and compares what they were answered with what the database has."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from fleet_database import FleetDatabase, Gateway
from fleet_desk import wait_until
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres

SCRIPT = Path(__file__).with_name("crashing_caller.py")
PATIENCE = 600.0


@dataclass
class Seen:
    """What all processes wrote. `used`: by nonce, the attempts that were answered so."""

    asked: set[str] = field(default_factory=set)
    used: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    approved: set[str] = field(default_factory=set)


class CrashRun:
    def __init__(self, database: FleetDatabase, folder: Path, processes: int) -> None:
        self.database = database
        self.folder = folder
        self.gateway: Gateway = database.gateway()
        self._person = database.person("anna").info.user
        self.callers = [self._start(number) for number in range(processes)]

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        dsns = (self.database.dsn("toolguard_gateway"), self.database.dsn(self._person))
        words = (self.folder, str(number), *dsns, self.gateway.id, self.gateway.token.hex())
        return subprocess.Popen([sys.executable, str(SCRIPT), *map(str, words)])

    def kill(self, number: int) -> None:
        """Another process goes on in its place."""
        assert self.callers[number].poll() is None, "it ended by itself"
        self.callers[number].kill()
        self.callers[number].wait()
        self.callers[number] = self._start(number)

    def seen(self) -> Seen:
        seen = Seen()
        for path in self.folder.glob("*.log"):
            for line in path.read_bytes().splitlines():
                _note(seen, json.loads(line))
        return seen

    def wait_for(self, approvals: int) -> None:
        def enough() -> bool:
            assert all(caller.poll() is None for caller in self.callers), "one ended by itself"
            return len(self.seen().used) >= approvals

        wait_until(enough, PATIENCE)

    def finish(self) -> None:
        """Each process answers what is open, and ends."""
        (self.folder / "stop").touch()
        for caller in self.callers:
            assert caller.wait(PATIENCE) == 0

    def close(self) -> None:
        for caller in self.callers:
            caller.kill()
            caller.wait()


def _note(seen: Seen, line: list[str]) -> None:
    match line:
        case ["ask", attempt, _]:
            seen.asked.add(attempt)
        case ["answer", attempt, "used", nonce]:
            seen.used[nonce].add(attempt)
        case ["approved", nonce]:
            seen.approved.add(nonce)


@contextmanager
def crash_run(database: FleetDatabase, folder: Path, processes: int) -> Iterator[CrashRun]:
    folder.mkdir(exist_ok=True)
    made = CrashRun(database, folder, processes)
    try:
        yield made
    finally:
        made.close()


def crash(server: TemporaryPostgres) -> None:
    """All processes of the server are killed at once, as when its machine loses power; what was synced is on the disk."""
    whole = psutil.Process(server.pid)
    processes = [whole, *whole.children(recursive=True)]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes[1:])
    server.stop()


def assert_nothing_lost(run: CrashRun) -> int:
    """None was used twice, and what was acknowledged is in the database. Returns how many were used."""
    seen = run.seen()
    owner = run.database.superuser()
    query = "SELECT nonce, encode(used_by, 'hex') FROM fleet.held_closed WHERE status = 'used'"
    closed: dict[str, str] = dict(owner.execute(query).fetchall())
    waiting = {row[0] for row in owner.execute("SELECT nonce FROM fleet.held WHERE status = 'approved'").fetchall()}
    decided = {row[0] for row in owner.execute("SELECT DISTINCT nonce FROM fleet.decision").fetchall()}
    assert {nonce: attempts for nonce, attempts in seen.used.items() if len(attempts) > 1} == {}, "used twice"
    assert {nonce for nonce, attempts in seen.used.items() if {closed.get(nonce)} != attempts} == set(), "a use was lost"
    assert seen.approved - waiting - set(closed) == set(), "an approval was lost"
    assert seen.approved <= decided
    assert set(closed.values()) <= seen.asked
    assert len(set(closed.values())) == len(closed), "one question used two approvals"
    return len(closed)
