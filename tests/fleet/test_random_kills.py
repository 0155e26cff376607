"""Database, courier, engine or gateway are killed at random moments of a held call: only what was approved runs, once."""

from __future__ import annotations

import base64
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from crash_runs import crash
from fleet_database import FleetDatabase
from fleet_desk import TEAM, Approver, join, wait_until
from fleet_servers import OwnPostgres, SharedPostgres
from ssh_signers import SshRoom
from test_fleet_engine import EngineInFleet, config
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres

VICTIMS = ("database", "courier", "engine", "gateway")
PATIENCE = 600.0
LONGEST = 1.5
"""Seconds after which the kill has happened: a held call takes about as long from its question to its use."""


@pytest.fixture(scope="module")
def server(postgres: SharedPostgres) -> Iterator[TemporaryPostgres]:
    with OwnPostgres(postgres) as made:
        yield made


@pytest.fixture
def database(server: TemporaryPostgres) -> Iterator[FleetDatabase]:
    made = FleetDatabase(server)
    yield made
    made.connect_again()
    made.close()


class Scene:
    """A gateway whose parts are killed. `ran`: how often each call was let run."""

    def __init__(self, server: TemporaryPostgres, database: FleetDatabase, folder: Path) -> None:
        self.server, self.database, self.folder = server, database, folder
        self.room = SshRoom(folder / "trust")
        self.state = folder / "state"
        join(self.state, database.gateway(TEAM))
        self.person = Approver(database, self.room, "anna")
        self.login = self.person.connection.info.user
        self.ran: Counter[str] = Counter()
        self.engine = self.start()

    def start(self) -> EngineInFleet:
        return EngineInFleet(self.state, config(self.database, self.room, self.folder))

    def ask(self, command: str) -> str:
        """The code of the verdict; empty if the engine was killed before it answered."""
        try:
            answer = self.engine.held(command)
        except (AssertionError, OSError, ValueError):
            self.engine.talk.kill()
            self.engine = self.start()
            return ""
        if answer["decision"] == "allow":
            self.ran[command] += 1
        return str(answer["code"])

    def approve(self, command: str) -> None:
        """Whatever waits for this call, once."""

        def approved() -> bool:
            for row in self.person.waiting():
                if command.encode() in base64.b64decode(row["entry"]):
                    if row["status"] == "pending":
                        self.person.approve(row["nonce"])
                    return True
            self.ask(command)
            return False

        def patiently() -> bool:
            try:
                return approved()
            except Exception:  # noqa: BLE001 - the server was killed
                self.person.connection.close()
                with suppress(Exception):
                    self.person.connection = self.database.connect(self.login)
                return False

        wait_until(patiently, PATIENCE)

    def kill(self, victim: str) -> None:
        process = psutil.Process(self.engine.talk.process.pid)
        if victim == "database":
            crash(self.server)
            self.server.start()
        elif victim == "courier":
            for child in process.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    if "toolguard_fleet" in child.cmdline():
                        child.kill()
        elif victim == "engine":
            process.kill()
        else:  # the engine finds its input at its end
            with suppress(OSError):
                self.engine.talk.into.close()


@pytest.mark.parametrize("moments", [len(VICTIMS), pytest.param(100, marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_whatever_is_killed(server: TemporaryPostgres, database: FleetDatabase, tmp_path: Path, moments: int) -> None:
    scene = Scene(server, database, tmp_path)
    try:
        wait_until(lambda: scene.ask("ls first") == "approval.pending", PATIENCE)
        for number in range(moments):
            approved, forbidden = f"ls approved-{number}x", f"ls forbidden-{number}x"
            victim = VICTIMS[number % len(VICTIMS)]
            killer = threading.Thread(target=lambda v=victim: (time.sleep(random.uniform(0, LONGEST)), scene.kill(v)))  # noqa: S311
            killer.start()
            scene.ask(approved)
            scene.ask(forbidden)
            scene.approve(approved)
            for _ in range(5):
                scene.ask(approved)
                scene.ask(forbidden)
            killer.join()
            wait_until(lambda name=forbidden: scene.ask(name) == "approval.pending", PATIENCE)
            scene.ask(approved)
        assert {command: count for command, count in scene.ran.items() if count > 1} == {}
        assert [command for command in scene.ran if "forbidden" in command] == []
        assert scene.ran, "no approval was ever used"
    finally:
        scene.engine.talk.kill()
