"""Two real gateways with two state directories on one database: a call that is held on one is approved by a person elsewhere
and runs once, there; the same call on the other is held on its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fleet_database import FleetDatabase, make_template
from fleet_desk import TEAM, Approver, join, passwordless
from gateway_stage import Stage, audit, configure, once, put_in
from ssh_signers import SshRoom
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres, programs

ESCALATE = "TOOLGUARD_ESCALATE|"


@pytest.fixture
def database() -> Iterator[FleetDatabase]:
    if programs() is None:
        pytest.skip("PostgreSQL 15 or later is not installed (Debian: apt-get install postgresql)")
    with TemporaryPostgres() as postgres:
        make_template(postgres)
        made = FleetDatabase(postgres)
        yield made
        made.close()


def opened(
    kept: ExitStack, real: downloads.Runtime, server: scripted_model.ScriptedModel, database: FleetDatabase, trust: Path
) -> Stage:
    home = kept.enter_context(Home(server.base_url))
    put_in(home)
    join(home.state_dir, database.gateway(TEAM))
    fleet = {
        "enabled": True, "team": TEAM, "dsn": passwordless(database, home.root), "trust": str(trust), "trustWritable": True,
        "deadlineMs": 3_000,
    }  # fmt: skip
    configure(home, alwaysBlock=["exec"], approvalWindowMs=120_000, pendingTimeoutMs=600_000, fleet=fleet)
    return Stage(kept.enter_context(Gateway(real, home)), server)


def test_one_database_for_two_gateways(
    real: downloads.Runtime, server: scripted_model.ScriptedModel, database: FleetDatabase, tmp_path: Path, wait
) -> None:
    room = SshRoom(tmp_path / "trust")
    anna = Approver(database, room, "anna")
    call = scripted_model.call("exec", {"command": "echo ran >> once.txt"})
    with ExitStack() as kept:
        here, there = (opened(kept, real, server, database, room.folder) for _ in range(2))

        def hold(stage: Stage) -> str:
            """The nonce; the first question may come before the courier has found the database."""
            found: list[str] = []

            def is_held() -> bool:
                text = stage.play(once(call), "agent:main:fleet").results[-1]
                found.append(text.split("|")[1] if text.startswith(ESCALATE) else "")
                return bool(found[-1])

            wait(is_held)
            return found[-1]

        nonce, other = hold(here), hold(there)
        assert len(nonce) == len(other) == 12
        assert nonce != other
        anna.approve(nonce)
        trace = here.home.workspace_dir / "once.txt"
        wait(lambda: trace.exists() or here.play(once(call), "agent:main:fleet") is None)
        assert trace.read_text() == "ran\n"
        played = here.play(once(call), "agent:main:fleet")
        assert played.results[-1].startswith(ESCALATE)
        assert trace.read_text() == "ran\n"
        assert there.play(once(call), "agent:main:fleet").results[-1].startswith(f"{ESCALATE}{other}|")
        assert not (there.home.workspace_dir / "once.txt").exists()
        events = [event["event"] for event in audit(here.home) if event.get("nonce") == nonce]
        assert [event for event in events if event != "hold-again"] == ["hold", "approve", "consume"]
