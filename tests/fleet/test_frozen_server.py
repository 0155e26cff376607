"""The server is frozen for long: what asks a person is blocked in time, all else is answered, by the same engine."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from fleet_database import FleetDatabase
from fleet_desk import TEAM, join
from fleet_servers import OwnPostgres, SharedPostgres
from ssh_signers import SshRoom
from test_fleet_engine import EngineInFleet, config, signal_all, until_held
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres

SAFE = 20


@pytest.fixture(scope="module")
def server(postgres: SharedPostgres) -> Iterator[TemporaryPostgres]:
    with OwnPostgres(postgres) as made:
        yield made


@pytest.fixture
def database(server: TemporaryPostgres) -> Iterator[FleetDatabase]:
    made = FleetDatabase(server)
    yield made
    made.close()


@pytest.mark.thorough
@pytest.mark.parametrize("seconds", [5, 60])
def test_a_server_that_is_frozen_for_long(
    server: TemporaryPostgres, database: FleetDatabase, tmp_path: Path, seconds: int
) -> None:
    state = tmp_path / "state"
    join(state, database.gateway(TEAM))
    engine = EngineInFleet(state, config(database, SshRoom(tmp_path / "trust"), tmp_path))
    try:
        process = psutil.Process(engine.talk.process.pid)
        born = process.create_time()
        nonce = until_held(engine)["nonce"]
        signal_all(server, signal.SIGSTOP)
        try:
            until, rounds = time.monotonic() + seconds, 0
            while time.monotonic() < until:
                rounds += 1
                blocked_while_others_run(engine)
        finally:
            signal_all(server, signal.SIGCONT)
        assert rounds > 0
        assert until_held(engine)["nonce"] == nonce
        assert (process.is_running(), process.create_time()) == (True, born)
    finally:
        engine.talk.kill()


def blocked_while_others_run(engine: EngineInFleet) -> None:
    """One call that asks a person, then calls that do not: the first is answered last, and blocked."""
    asked = engine.send("deploy", command="ls build")
    safe = [engine.send("memory_search", query="x") for _ in range(SAFE)]
    answers: list[dict[str, Any]] = [engine.verdict() for _ in range(SAFE + 1)]
    by_id = {answer["id"]: answer for answer in answers}
    assert {by_id[number]["decision"] for number in safe} == {"allow"}
    assert (by_id[asked]["decision"], by_id[asked]["code"]) == ("block", "approval.away")
