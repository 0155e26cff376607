"""Two real gateways of a fleet whose engines, couriers and database are killed at random moments of a held call: what was
approved runs once, on the gateway that it was approved for; nothing else runs, and the logs name only who has signed.

`TOOLGUARD_TEST_KILLS` is how often something is killed."""

from __future__ import annotations

import base64
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from crash_runs import crash
from fleet_database import FleetDatabase, make_template
from fleet_desk import Approver
from gateway_stage import Stage, audit, once
from ssh_signers import SshRoom
from test_fleet_on_gateway import opened
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres, programs

KILLS = int(os.environ.get("TOOLGUARD_TEST_KILLS", "20"))
LONGEST = 3.0
"""Seconds after which the kill has happened: a turn with a held call takes about as long."""
FAILURES = (psycopg.Error, OSError)
"""How a connection ends whose database was killed."""
VICTIMS = ("engine", "courier", "database", "other engine", "other courier")
TRACE = "ran.txt"
Wait = Callable[[Callable[[], bool]], None]


@pytest.fixture
def postgres() -> Iterator[TemporaryPostgres]:
    if programs() is None:
        pytest.skip("PostgreSQL 15 or later is not installed (Debian: apt-get install postgresql)")
    with TemporaryPostgres() as made:
        make_template(made)
        yield made


class Person:
    """Approves calls by their text, also after the database was killed."""

    def __init__(self, database: FleetDatabase, room: SshRoom) -> None:
        self._database = database
        self._one = Approver(database, room, "anna")
        self._login = self._one.connection.info.user
        self.approved: set[str] = set()

    def approve(self, command: str) -> bool:
        """Whether a call with this text waits, and is approved now."""
        try:
            for row in self._one.waiting():
                if command.encode() in base64.b64decode(row["entry"]):
                    if row["status"] == "pending":
                        self.approved.add(row["nonce"])
                        self._one.approve(row["nonce"])
                    return True
        except FAILURES:
            self._one.connection.close()
            with suppress(*FAILURES):
                self._one.connection = self._database.connect(self._login)
        return False


def kill(victim: str, stages: tuple[Stage, Stage], postgres: TemporaryPostgres) -> None:
    if victim == "database":
        crash(postgres)
        postgres.start()
        return
    for pid in stages[victim.startswith("other")].engines():
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if victim.endswith("engine"):
                os.kill(pid, signal.SIGKILL)
            for child in psutil.Process(pid).children() if victim.endswith("courier") else ():
                if any("toolguard_fleet" in word for word in child.cmdline()):
                    child.kill()


def command(name: str) -> str:
    return f"echo {name} >> {TRACE}"


def ask(stage: Stage, name: str) -> None:
    stage.play(once(scripted_model.call("exec", {"command": command(name)})), "agent:main:fleet")


def ran(stage: Stage) -> list[str]:
    trace = stage.home.workspace_dir / TRACE
    return trace.read_text().split() if trace.exists() else []


@pytest.mark.thorough
def test_whatever_is_killed(
    real: downloads.Runtime,
    server: scripted_model.ScriptedModel,
    postgres: TemporaryPostgres,
    tmp_path: Path,
    wait: Wait,
) -> None:
    database, room = FleetDatabase(postgres), SshRoom(tmp_path / "trust")
    person, chance = Person(database, room), random.Random(1)  # noqa: S311
    with ExitStack() as kept:
        here, there = (opened(kept, real, server, database, room) for _ in range(2))
        for number in range(KILLS):
            victim = VICTIMS[number % len(VICTIMS)]
            delay = chance.uniform(0, LONGEST)
            killer = threading.Thread(target=lambda v=victim, d=delay: (time.sleep(d), kill(v, (here, there), postgres)))
            killer.start()
            ask(there, f"forbidden-{number}x")
            wait(lambda n=number: person.approve(f"approved-{n}x") or bool(ask(here, f"approved-{n}x")))  # type: ignore[misc]
            wait(lambda n=number: f"approved-{n}x" in ran(here) or bool(ask(here, f"approved-{n}x")))  # type: ignore[misc]
            ask(here, f"approved-{number}x")
            killer.join()
            print(number + 1, victim, flush=True)  # noqa: T201 - it takes long
        assert Counter(ran(here)) == {f"approved-{number}x": 1 for number in range(KILLS)}
        assert ran(there) == []
        for stage in (here, there):
            decided = [event for event in audit(stage.home) if event["event"] in ("approve", "consume")]
            assert {event["nonce"] for event in decided} <= person.approved
            assert {event["by"] for event in decided if event["event"] == "approve"} <= {"anna"}
            assert set(Counter((event["event"], event["nonce"]) for event in decided).values()) <= {1}
    database.connect_again()
    database.close()
