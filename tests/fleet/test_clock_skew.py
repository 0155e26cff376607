"""The gateway's clock is ten minutes off: nothing changes, because the server's time counts."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_database import FleetDatabase
from fleet_desk import Approver, FleetDesk, wait_until
from ssh_signers import SshRoom
from toolguard_engine.stores.fleet import fleet_client
from toolguard_engine.stores.fleet.courier_link import CourierLink

MINUTES = 600.0
COURIER = """
import runpy, sys, time
real, shift = time.time, float(sys.argv[1])
time.time = lambda: real() + shift
sys.argv = sys.argv[:1]
runpy.run_module("toolguard_fleet", run_name="__main__")
"""


@pytest.fixture(params=[MINUTES, -MINUTES], ids=["ahead", "behind"])
def desk(
    request: pytest.FixtureRequest, database: FleetDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FleetDesk]:
    """Engine and courier have a clock of their own; the server and the approver have the right one."""
    real = time.time
    command = (sys.executable, "-c", COURIER, str(request.param))
    monkeypatch.setattr(fleet_client, "CourierLink", lambda begin, news: CourierLink(begin, news, command))
    monkeypatch.setattr(time, "time", lambda: real() + request.param)
    made = FleetDesk(database, tmp_path / "gateway", SshRoom(tmp_path / "trust"))
    yield made
    made.close()


def server_time(desk: FleetDesk) -> float:
    row = desk.database.owner().execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    assert row
    return float(row[0])


def test_a_clock_that_is_off_changes_nothing(desk: FleetDesk) -> None:
    anna = Approver(desk.database, desk.room, "anna")
    held = desk.answered()
    assert (held.outcome, held.fresh) == ("pending", True)
    assert desk.answered().entry.nonce == held.entry.nonce
    wait_until(lambda: abs(desk.client.switch.status.skew) > MINUTES / 2)
    anna.approve(held.entry.nonce, until=server_time(desk) + 120)
    wait_until(lambda: desk.calls.is_decided(held.entry.nonce, held.entry.created))
    assert desk.answered().outcome == "used"
    assert desk.answered().fresh


@pytest.mark.thorough
def test_what_is_over_by_the_server_is_over(desk: FleetDesk) -> None:
    short = desk.answered("short", wait=1.0).entry
    wait_until(lambda: (again := desk.answered("short", wait=300.0)).entry.nonce != short.nonce and again.fresh)


def test_a_signature_that_has_expired_lets_nothing_run(desk: FleetDesk) -> None:
    anna = Approver(desk.database, desk.room, "anna")
    held = desk.answered().entry
    wait_until(lambda: abs(desk.client.switch.status.skew) > MINUTES / 2)
    anna.approve(held.nonce, until=server_time(desk) - 5)
    assert desk.answered().outcome == "expired"
