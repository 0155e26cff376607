"""The fleet's policy and kill switch at an engine process, and in the commands on its machine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_stage import toolguard

from fleet_database import FleetDatabase
from fleet_desk import TEAM, Approver, join, passwordless, wait_until
from policy_desk import PolicyAdmin
from ssh_signers import SshRoom, sign
from test_fleet_engine import EngineInFleet, until_held
from toolguard_engine.approvals import signed_decision
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.config.settings import parse
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores import open as stores

TWO = '[teams]\nops = ["anna@example.com", "bert@example.com"]\n[[approvers]]\nneed = 2\n'


@pytest.fixture
def room(tmp_path: Path) -> SshRoom:
    return SshRoom(tmp_path / "trust")


@pytest.fixture
def admin(database: FleetDatabase, room: SshRoom) -> PolicyAdmin:
    return PolicyAdmin(database.person("root", "admin"), room)


@pytest.fixture
def state(database: FleetDatabase, room: SshRoom, tmp_path: Path) -> Path:
    """A gateway's state directory with its config."""
    folder = tmp_path / "state"
    join(folder, database.gateway(TEAM))
    own = {"plugins": {"entries": {"toolguard": {"config": settings(database, room, tmp_path)}}}}
    (folder / "openclaw.json").write_text(json.dumps(own))
    return folder


def settings(database: FleetDatabase, room: SshRoom, tmp_path: Path, **more: Any) -> dict[str, Any]:
    fleet = {
        "enabled": True, "team": TEAM, "dsn": passwordless(database, tmp_path), "trust": str(room.folder),
        "trustWritable": True, "deadlineMs": 3_000, **more,
    }  # fmt: skip
    return {"fleet": fleet, "alwaysBlock": ["deploy"]}


@pytest.fixture
def engine(database: FleetDatabase, room: SshRoom, tmp_path: Path, state: Path) -> Iterator[EngineInFleet]:
    made = EngineInFleet(state, settings(database, room, tmp_path))
    yield made
    made.talk.kill()


def deployed(engine: EngineInFleet) -> dict[str, Any]:
    """The verdict on a call that runs without the policy."""
    engine.send("exec", command="make deploy")
    return engine.verdict()


def searched(engine: EngineInFleet) -> dict[str, Any]:
    engine.send("memory_search", query="x")
    return engine.verdict()


def status(state: Path) -> dict[str, Any]:
    done = toolguard("status", "--state-dir", state, "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.thorough
def test_a_pushed_rule_blocks_and_stays_over_a_restart(
    engine: EngineInFleet, admin: PolicyAdmin, database: FleetDatabase, room: SshRoom, tmp_path: Path, state: Path
) -> None:
    until_held(engine)
    assert deployed(engine)["decision"] == "allow"
    admin.push(1)
    answer = wait_until(lambda: found if (found := deployed(engine))["decision"] == "block" else None)
    assert (answer["code"], "It publishes the site." in answer["text"]) == ("rule.fleet.no-deploy", True)
    shown = json.loads(toolguard("check", "make deploy", "--state-dir", state, "--json").stdout)
    assert "rule.fleet.no-deploy" in json.dumps(shown)
    assert status(state)["data"]["fleet"]["policyVersion"] == 1
    engine.talk.kill()
    nowhere = "host=127.0.0.1 port=1 dbname=fleet user=toolguard_gateway"
    again = EngineInFleet(state, settings(database, room, tmp_path, dsn=nowhere))
    try:
        assert deployed(again)["code"] == "rule.fleet.no-deploy", "from its first call on, and without the database"
    finally:
        again.talk.kill()


def test_a_tampered_last_good_policy_holds_calls(
    engine: EngineInFleet, admin: PolicyAdmin, database: FleetDatabase, room: SshRoom, tmp_path: Path, state: Path
) -> None:
    until_held(engine)
    admin.push(1)
    wait_until(lambda: deployed(engine)["decision"] == "block")
    engine.talk.kill()
    kept = state / "toolguard" / "fleet-policy.last-good"
    kept.write_bytes(kept.read_bytes().replace(b"make deploy", b"make depl0y"))
    nowhere = "host=127.0.0.1 port=1 dbname=fleet user=toolguard_gateway"
    again = EngineInFleet(state, settings(database, room, tmp_path, dsn=nowhere))
    try:
        again.send("exec", command="touch x")
        answer = again.verdict()
        assert (answer["decision"], "policy" in answer["code"] or "away" in answer["code"]) == ("block", True), answer
        assert searched(again)["decision"] == "allow", "SAFE calls run"
    finally:
        again.talk.kill()
    shown = toolguard("status", "--state-dir", state).stdout
    assert "cannot be verified" in shown


@pytest.mark.thorough
def test_need_is_that_of_the_policy(
    engine: EngineInFleet, admin: PolicyAdmin, database: FleetDatabase, room: SshRoom
) -> None:
    anna, bert = Approver(database, room, "anna"), Approver(database, room, "bert")
    until_held(engine)
    admin.push(1, TWO)
    path = database.owner()
    wait_until(lambda: engine.held("one more")["code"] == "approval.pending")

    def needs_two() -> str:
        """A call that was held before keeps its need: each time another one."""
        nonce: str = engine.held(f"ls {engine.question}")["nonce"]
        row = path.execute("SELECT need FROM fleet.held WHERE nonce = %s", (nonce,)).fetchone()
        return nonce if row == (2,) else ""

    nonce = wait_until(needs_two)
    command = f"ls {engine.question - 1}"
    anna.approve(nonce)
    assert engine.held(command)["nonce"] == nonce
    bert.approve(nonce)
    assert engine.held(command)["code"] == "approval.consumed"


def test_the_teams_kill_switch_names_team_and_reason(engine: EngineInFleet, admin: PolicyAdmin, state: Path) -> None:
    until_held(engine)
    admin.connection.execute("SELECT fleet.kill('ops', true, 'it mails everybody')")
    answer = wait_until(lambda: found if (found := searched(engine))["decision"] == "block" else None)
    assert answer["code"] == "kill-switch.fleet"
    assert "stopped by ops's kill switch: it mails everybody (root)" in answer["text"]
    found = status(state)
    assert found["data"]["fleet"]["killSwitch"]["on"] is True
    assert "stopped by ops's kill switch: it mails everybody" in str(found["messages"])
    admin.connection.execute("SELECT fleet.kill('ops', false, '')")
    wait_until(lambda: searched(engine)["decision"] == "allow")


def test_a_trust_root_that_the_gateway_can_write_blocks_what_asks(
    database: FleetDatabase, room: SshRoom, tmp_path: Path, state: Path
) -> None:
    """Also for root, who can write everything."""
    made = EngineInFleet(state, settings(database, room, tmp_path, trustWritable=False))
    try:
        answer = made.held()
        assert (answer["decision"], answer["code"]) == ("block", "approval.away")
        assert searched(made)["decision"] == "allow"
        assert "trustWritable" in json.dumps([*made.news, answer])
    finally:
        made.talk.kill()


def test_a_grant_of_the_stores_key_alone_lets_nothing_run(
    engine: EngineInFleet, database: FleetDatabase, room: SshRoom, state: Path
) -> None:
    """Whoever reads that key could otherwise do without a signature."""
    anna = Approver(database, room, "anna")
    room.allow("anna@example.com", anna.key)
    until_held(engine)
    until = time.time() + 3_600
    forged = Grant(id="", tool="deploy", pattern="*", agent="", expires=until, created=time.time(), by="x", reason="x")
    stores.grants(state).add(forged)
    assert engine.held()["code"] == "approval.pending"
    signers = stores.grant_signers(state, parse({"fleet": {"enabled": True, "trust": str(room.folder)}}))
    assert signers is not None
    (grant,) = stores.grants(state).grants()
    body = signed_decision.grant_body(grant, signers.issuer)
    signers.keep_grant(grant, SignedBody(body.decode(), sign(body, anna.key, "toolguard-grant")))
    assert engine.held()["code"] == f"grant.{grant.id}"
