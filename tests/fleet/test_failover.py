"""The primary is lost and its standby takes over."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash_runs import assert_nothing_lost, crash, crash_run
from fleet_database import FleetDatabase
from fleet_desk import Approver, FleetDesk, passwordless
from fleet_servers import SharedPostgres
from replicated_postgres import followed, primary, sender, wait_for_replay
from ssh_signers import SshRoom
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres

PROCESSES = 4


@pytest.fixture
def server(postgres: SharedPostgres) -> Iterator[TemporaryPostgres]:
    with primary(postgres) as made:
        yield made


@pytest.fixture
def database(server: TemporaryPostgres) -> Iterator[FleetDatabase]:
    made = FleetDatabase(server)
    yield made
    made.abandon()


@pytest.mark.parametrize("used", [30, pytest.param(2_000, marks=pytest.mark.thorough)])
def test_synchronous_no_acknowledged_use_is_lost(
    server: TemporaryPostgres, database: FleetDatabase, tmp_path: Path, used: int
) -> None:
    with followed(server, is_synchronous=True) as standby:
        with crash_run(database, tmp_path / "run", PROCESSES) as run:
            run.wait_for(used)
            crash(server)
        standby.promote()
        database.move_to(standby)
        assert assert_nothing_lost(run) >= used


@pytest.mark.thorough
def test_asynchronous_a_use_that_was_lost_is_not_repeated(
    server: TemporaryPostgres, database: FleetDatabase, tmp_path: Path
) -> None:
    """The standby has the approval and not its use. The machine that used it knows."""
    room = SshRoom(tmp_path / "trust")
    anna = Approver(database, room, "anna")
    with followed(server, is_synchronous=False) as standby:
        dsn = passwordless(database, tmp_path).replace(f"port={server.port}", f"port={server.port},{standby.port}")
        dsn = f"{dsn.replace('host=127.0.0.1', 'host=127.0.0.1,127.0.0.1')} target_session_attrs=read-write"
        desk = FleetDesk(database, tmp_path / "gateway", room, dsn=dsn)
        try:
            nonce = desk.answered().entry.nonce
            anna.approve(nonce)
            wait_for_replay(server, standby)
            os.kill(sender(server), signal.SIGSTOP)
            assert desk.answered().outcome == "used"
            crash(server)
            standby.promote()

            found = desk.answered()
            assert (found.outcome, found.entry.nonce, found.refusal) == (
                "expired",
                nonce,
                "it was used on this machine before",
            )
            assert desk.answered().outcome == "pending"
        finally:
            desk.close()
