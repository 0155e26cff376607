"""Processes and the server are killed at random moments while approvals are given and used."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash_runs import assert_nothing_lost, crash, crash_run
from fleet_database import FleetDatabase
from fleet_servers import OwnPostgres, SharedPostgres
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres


@pytest.fixture(scope="module")
def server(postgres: SharedPostgres) -> Iterator[TemporaryPostgres]:
    """One of our own, which is killed."""
    with OwnPostgres(postgres) as made:
        yield made


@pytest.fixture
def database(server: TemporaryPostgres) -> Iterator[FleetDatabase]:
    made = FleetDatabase(server)
    yield made
    made.connect_again()
    made.close()


@pytest.mark.parametrize(
    ("approvals", "processes", "kills", "crashes"),
    [pytest.param(100, 4, 3, 1, id="short"), pytest.param(10_000, 8, 100, 10, id="long", marks=pytest.mark.thorough)],
)
def test_no_approval_is_used_twice_or_lost(
    database: FleetDatabase,
    server: TemporaryPostgres,
    tmp_path: Path,
    approvals: int,
    processes: int,
    kills: int,
    crashes: int,
) -> None:
    faults = ["kill"] * kills + ["crash"] * crashes
    random.shuffle(faults)
    with crash_run(database, tmp_path / "run", processes) as run:
        for number, fault in enumerate(faults, 1):
            run.wait_for(approvals * number // (len(faults) + 1))
            time.sleep(random.uniform(0, 0.1))  # any moment  # noqa: S311
            if fault == "kill":
                run.kill(random.randrange(processes))  # noqa: S311
            else:
                crash(server)
                server.start()
        run.wait_for(approvals)
        run.finish()
        assert assert_nothing_lost(run) >= approvals
