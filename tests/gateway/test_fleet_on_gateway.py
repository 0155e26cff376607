"""Two real gateways with two state directories on one database: a call that is held on one is approved by a person elsewhere
and runs once, there; the same call on the other is held on its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fleet_database import FleetDatabase, make_template
from fleet_desk import TEAM, Approver, join, passwordless
from gateway_stage import Stage, audit, configure, once, put_in
from shared_gateway import Shared
from ssh_signers import SshRoom
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres, programs

ESCALATE = "TOOLGUARD_ESCALATE|"
SESSION = "agent:main:fleet"
TRACE = "once.txt"
CALL = scripted_model.call("exec", {"command": f"echo ran >> {TRACE}"})
Wait = Callable[[Callable[[], bool]], None]


@pytest.fixture
def database() -> Iterator[FleetDatabase]:
    if programs() is None:
        pytest.skip("PostgreSQL 15 or later is not installed (Debian: apt-get install postgresql)")
    with TemporaryPostgres() as postgres:
        make_template(postgres)
        made = FleetDatabase(postgres)
        yield made
        made.close()


@pytest.fixture
def room(tmp_path: Path) -> SshRoom:
    return SshRoom(tmp_path / "trust")


def settings(database: FleetDatabase, room: SshRoom, folder: Path) -> dict[str, Any]:
    """Each `exec` asks a person of the team; `folder` gets the password file."""
    fleet = {
        "enabled": True, "team": TEAM, "dsn": passwordless(database, folder), "trust": str(room.folder),
        "trustWritable": True, "deadlineMs": 3_000,
    }  # fmt: skip
    return {"alwaysBlock": ["exec"], "approvalWindowMs": 120_000, "pendingTimeoutMs": 600_000, "fleet": fleet}


def hold(stage: Stage, wait: Wait) -> str:
    """The nonce; the first question may come before the courier has found the database."""
    found: list[str] = []

    def is_held() -> bool:
        text = stage.play(once(CALL), SESSION).results[-1]
        found.append(text.split("|")[1] if text.startswith(ESCALATE) else "")
        return bool(found[-1])

    wait(is_held)
    return found[-1]


def assert_runs_once(stage: Stage, approver: Approver, nonce: str, wait: Wait) -> None:
    """After the approval; the next call is held anew."""
    approver.approve(nonce)
    trace = stage.home.workspace_dir / TRACE
    wait(lambda: trace.exists() or stage.play(once(CALL), SESSION) is None)
    assert trace.read_text() == "ran\n"
    assert stage.play(once(CALL), SESSION).results[-1].startswith(ESCALATE)
    assert trace.read_text() == "ran\n"
    events = [event["event"] for event in audit(stage.home) if event.get("nonce") == nonce]
    assert [event for event in events if event not in ("hold-again", "kept")] == ["hold", "approve", "consume"]


@pytest.mark.thorough
def test_a_call_that_is_approved_elsewhere_runs_once(
    either: Shared, database: FleetDatabase, room: SshRoom, tmp_path: Path, wait: Wait
) -> None:
    stage = either.under(**settings(database, room, tmp_path))
    join(stage.home.state_dir, database.gateway(TEAM))
    before = stage.engines()
    for pid in before:  # the next one knows that it belongs to the fleet
        os.kill(pid, signal.SIGKILL)
    wait(lambda: bool(stage.engines()) and stage.engines() != before)
    assert_runs_once(stage, Approver(database, room, "anna"), hold(stage, wait), wait)


def opened(
    kept: ExitStack, real: downloads.Runtime, server: scripted_model.ScriptedModel, database: FleetDatabase, room: SshRoom
) -> Stage:
    home = kept.enter_context(Home(server.base_url))
    put_in(home)
    join(home.state_dir, database.gateway(TEAM))
    configure(home, **settings(database, room, home.root))
    return Stage(kept.enter_context(Gateway(real, home)), server)


@pytest.mark.thorough
def test_one_database_for_two_gateways(
    real: downloads.Runtime, server: scripted_model.ScriptedModel, database: FleetDatabase, room: SshRoom, wait: Wait
) -> None:
    anna = Approver(database, room, "anna")
    with ExitStack() as kept:
        here, there = (opened(kept, real, server, database, room) for _ in range(2))
        nonce, other = hold(here, wait), hold(there, wait)
        assert len(nonce) == len(other) == 12
        assert nonce != other
        assert_runs_once(here, anna, nonce, wait)
        assert there.play(once(CALL), SESSION).results[-1].startswith(f"{ESCALATE}{other}|")
        assert not (there.home.workspace_dir / TRACE).exists()
