"""Approving on the fleet dashboard with a passkey: what the page refuses, and what gateways verify themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fleet_database import FleetDatabase
from fleet_desk import TEAM, FleetDesk, join, wait_until
from fleet_page import FleetPage
from passkey_visitor import PasskeyVisitor
from policy_desk import PolicyAdmin
from software_passkey import PRESENT, VERIFIED, SoftwarePasskey, base64url
from ssh_signers import SshRoom, keygen
from test_fleet_engine import EngineInFleet, config
from toolguard_engine.approvals import security_keys

COMMAND = "rm -rf build"
TWO = '[teams]\nops = ["anna", "bert"]\n[[approvers]]\nneed = 2\n'


@pytest.fixture
def room(tmp_path: Path) -> SshRoom:
    return SshRoom(tmp_path / "trust")


@pytest.fixture
def desk(database: FleetDatabase, tmp_path: Path, room: SshRoom) -> Iterator[FleetDesk]:
    made = FleetDesk(database, tmp_path / "gateway", room)
    yield made
    made.close()


@pytest.fixture
def page(database: FleetDatabase) -> Iterator[FleetPage]:
    with FleetPage(database) as running:
        yield running


@pytest.fixture
def anna(database: FleetDatabase, page: FleetPage) -> PasskeyVisitor:
    database.person("anna")
    return PasskeyVisitor(page, database.owner(), "anna")


def test_a_call_runs_once_after_the_yes_of_a_trusted_passkey(desk: FleetDesk, anna: PasskeyVisitor, room: SshRoom) -> None:
    anna.trusted(room)
    nonce = desk.answered(COMMAND).entry.nonce
    answer = anna.approve(desk.gateway.id, nonce)
    assert (answer.status, answer.json["text"]) == (200, f"Your approval of {nonce} was sent. Its gateway verifies it.")
    used = desk.answered(COMMAND)
    assert (used.outcome, used.entry.nonce, used.entry.by) == ("used", nonce, "anna")
    assert desk.answered(COMMAND).fresh
    assert desk.events() == ["hold", "approve", "consume", "hold"]


def test_a_passkey_that_the_gateway_does_not_trust_lets_nothing_run(
    desk: FleetDesk, anna: PasskeyVisitor, room: SshRoom
) -> None:
    """That the database knows it means nothing."""
    assert anna.add().status == 200
    nonce = desk.answered(COMMAND).entry.nonce
    assert anna.approve(desk.gateway.id, nonce).status == 200
    refused = desk.answered(COMMAND)
    assert (refused.outcome, bool(refused.refusal)) == ("expired", True)
    assert desk.answered(COMMAND).fresh
    assert desk.events() == ["hold", "forged", "hold"]


@pytest.mark.thorough
def test_whoever_has_the_dashboards_login_lets_nothing_run(
    desk: FleetDesk, anna: PasskeyVisitor, room: SshRoom, database: FleetDatabase
) -> None:
    """Signatures that the page would not send go into the database by its own functions: the gateway refuses each."""
    anna.trusted(room)
    own, login = anna.key, database.connect("toolguard_page")
    session = (anna.visitor.headers["cookie"].partition("=")[2] + anna.visitor.headers["x-toolguard-key"]).encode()
    earlier: list[str] = []

    def offered(**changed: Any) -> str:
        """Why the gateway refuses this signature of a call that it holds."""
        held = desk.answered(COMMAND).entry
        body = changed.pop("body", None) or anna.begin(desk.gateway.id, held.nonce).json["body"]
        key: SoftwarePasskey = changed.pop("key", own)
        signature = changed.pop("signature", None) or key.ssh_signature(body.encode(), origin=anna.origin, **changed)
        earlier[:] = [body, signature]
        values = (session, desk.gateway.id, held.nonce, body.encode(), signature.encode())
        row = login.execute("SELECT fleet.page_approve(%s, %s, %s, %s, %s)", values).fetchone()
        assert row
        assert row[0]["status"] == "approved", "the database believes it"
        refused = desk.answered(COMMAND)
        assert refused.outcome == "expired", changed
        return refused.refusal

    assert offered(flags=VERIFIED) == security_keys.ABSENT
    assert offered(flags=PRESENT) == security_keys.UNVERIFIED
    assert offered(crossOrigin=True) == security_keys.OTHER_PAGE
    assert offered(rp="evil.example")
    assert offered(kind="webauthn.create")
    assert offered(challenge=b"another")
    assert offered(namespace="toolguard-policy")
    assert offered(key=SoftwarePasskey("localhost"))
    assert offered(signature="-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n")
    body, signature = earlier[0], own.ssh_signature(earlier[0].encode(), origin=anna.origin)
    assert offered(body=body, signature=signature) == "its signature is for another call", "a replay, with a valid signature"
    room.folder.joinpath("key.pub").write_text(own.line("", "").lstrip())
    keygen("-q", "-k", "-f", str(room.revoked), str(room.folder / "key.pub"))
    assert offered(), "the passkey is revoked"
    room.revoked.unlink()
    assert set(desk.events()) == {"hold", "forged"}
    assert anna.approve(desk.gateway.id, desk.answered(COMMAND).entry.nonce).status == 200
    assert desk.answered(COMMAND).outcome == "used"


@pytest.mark.thorough
def test_two_persons_with_passkeys_where_the_policy_needs_two(
    anna: PasskeyVisitor, page: FleetPage, database: FleetDatabase, room: SshRoom, tmp_path: Path
) -> None:
    gateway = database.gateway(TEAM)
    join(tmp_path / "state", gateway)
    database.person("bert")
    bert = PasskeyVisitor(page, database.owner(), "bert")
    PolicyAdmin(database.person("root", "admin"), room).push(1, TWO)
    engine = EngineInFleet(tmp_path / "state", config(database, room, tmp_path))
    try:
        anna.trusted(room)
        bert.trusted(room)

        def needs_two() -> str:
            """A call that was held before the policy arrived keeps its need: each time another one."""
            nonce: str = engine.held(f"ls {engine.question}")["nonce"]
            found = database.owner().execute("SELECT need FROM fleet.held WHERE nonce = %s", (nonce,)).fetchone()
            return nonce if found == (2,) else ""

        nonce = wait_until(needs_two)
        command = f"ls {engine.question - 1}"
        first = anna.approve(gateway.id, nonce)
        assert first.json["text"] == f"Your approval of {nonce} is recorded: 1 of 2 people have approved it."
        assert engine.held(command)["code"] == "approval.pending"
        assert bert.approve(gateway.id, nonce).json["text"] == f"Your approval of {nonce} was sent. Its gateway verifies it."
        assert engine.held(command)["code"] == "approval.consumed"
    finally:
        engine.talk.kill()


def test_what_is_refused_here_already(
    desk: FleetDesk, anna: PasskeyVisitor, page: FleetPage, database: FleetDatabase
) -> None:
    database.person("bert")
    bert = PasskeyVisitor(page, database.owner(), "bert")
    gateway, nonce = desk.gateway.id, desk.answered(COMMAND).entry.nonce
    other = desk.answered("rm -rf dist").entry.nonce
    assert anna.begin(gateway, nonce).code == "no-passkey"
    assert (anna.add().status, bert.add().status) == (200, 200)
    assert anna.begin(gateway, "0" * 12).code == "unknown"
    asked = anna.begin(gateway, nonce).json
    good = anna.answer(gateway, nonce, asked)
    changed = json.loads(asked["body"])

    def body(**members: Any) -> str:
        return json.dumps({**changed, **members}, separators=(",", ":"), sort_keys=True)

    refused: list[tuple[dict[str, Any], str]] = [
        ({"nonce": other}, "changed"),
        ({"body": body(nonce=other)}, "changed"),
        ({"body": body(until=changed["until"] + 600)}, "changed"),
        ({"body": body(need=2)}, "changed"),
        ({"body": body(verdict="denied")}, "changed"),
        ({"body": asked["body"] + " "}, "changed"),
        ({"body": "{}"}, "values"),
        ({"body": "\ud800"}, "malformed"),
        ({"id": base64url(bert.key.id)}, "no-passkey"),
        ({"id": "A"}, "values"),
        ({"signature": "A" * 101}, "values"),
        ({"signature": base64url(b"\x30\x06\x02\x01\x01\x02\x01\x01")}, "signature"),
        ({"clientData": "A" * 2_801}, "values"),
        ({"authenticatorData": ""}, "values"),
        ({"extra": 1}, "values"),
        (anna.answer(gateway, nonce, asked, flags=PRESENT), "signature"),
        (anna.answer(gateway, nonce, asked, origin="http://evil.example"), "signature"),
        (bert.answer(gateway, nonce, asked) | {"id": good["id"]}, "signature"),
    ]
    for each, code in refused:
        answer = anna.ask("/api/approve", {**good, **each})
        assert answer.code == code, (each, answer.data)
        assert 400 <= answer.status < 500
    assert desk.answered(COMMAND).outcome == "pending"
    assert anna.ask("/api/approve", good).status == 200


def test_changes_need_a_session_and_come_from_the_page(
    page: FleetPage, anna: PasskeyVisitor, database: FleetDatabase
) -> None:
    made = {"id": base64url(anna.key.id), "publicKey": base64url(anna.key.spki)}
    assert anna.add(extra=1).code == "values"
    assert anna.ask("/api/passkeys/add", made, origin="http://evil.example").code == "origin"
    assert anna.ask("/api/passkeys/add", made, **{"x-toolguard-key": "0" * 32}).status == 401
    assert page.ask("/api/passkeys/add", made, {"origin": f"http://{page.host}"}).status == 401
    assert anna.visitor.ask("/api/passkeys/add", made).code == "host", "127.0.0.1 is not a host name"
    without = {name: value for name, value in anna.visitor.headers.items() if name != "origin"}
    assert page.ask("/api/passkeys/add", made, {**without, "host": anna.place}).code == "origin"
    assert anna.ask("/api/passkeys").json == {"passkeys": []}
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        database.connect("toolguard_page").execute("SELECT * FROM fleet.page_passkey")


@pytest.mark.thorough
def test_passkeys_belong_to_one_person_and_are_few(page: FleetPage, anna: PasskeyVisitor, database: FleetDatabase) -> None:
    database.person("bert")
    database.person("vera", "viewer")
    bert, vera = (PasskeyVisitor(page, database.owner(), name) for name in ("bert", "vera"))
    assert (vera.add().status, vera.add().code) == (403, "role")
    assert anna.add().status == 200
    assert anna.lines() == [anna.key.line("anna").strip()]
    assert bert.ask("/api/passkeys/add", {"id": base64url(anna.key.id), "publicKey": base64url(bert.key.spki)}).status == 422
    assert bert.ask("/api/passkeys/remove", {"id": base64url(anna.key.id)}).status == 422
    assert bert.lines() == []
    for _ in range(9):
        assert anna.add(id=base64url(SoftwarePasskey().id)).status == 200
    assert anna.add(id=base64url(SoftwarePasskey().id)).status == 422
    assert anna.ask("/api/passkeys/remove", {"id": base64url(anna.key.id)}).status == 200
    assert len(anna.lines()) == 9
    kinds = database.owner().execute("SELECT DISTINCT kind FROM fleet.event WHERE who = 'anna'").fetchall()
    assert sorted(kinds) == [("passkey",), ("passkey-removed",)]


def test_a_call_that_the_page_cannot_show_in_full_is_not_signed_here(desk: FleetDesk, anna: PasskeyVisitor) -> None:
    assert anna.add().status == 200
    nonce = desk.answered("echo " + "x" * 20_001).entry.nonce
    answer = anna.begin(desk.gateway.id, nonce)
    assert (answer.status, answer.code) == (409, "incomplete")
    assert f"toolguard fleet approve {nonce}" in answer.json["error"]["fix"]
