"""Held calls of a gateway in a fleet: its store, its courier, a real database, and persons with real keys."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast

import pytest
from msgspec import structs

import toolguard_fleet.__main__
from fleet_database import FleetDatabase
from fleet_desk import Approver, FleetDesk, wait_until
from ssh_signers import SshRoom
from toolguard_engine.approvals.approval_window import EndMove
from toolguard_engine.approvals.ledger import MAX_APPROVED, Decision, RefusedError
from toolguard_engine.config import settings
from toolguard_engine.server.held_call_decisions import Approvals
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.fleet import fleet_identity
from toolguard_engine.stores.fleet.courier_link import FleetAwayError, FleetRefusedError
from toolguard_engine.stores.fleet.fleet_held_calls import FleetHeldCalls
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wire import messages

CHAT = Decision("anna", "chat", "not now")


@pytest.fixture
def room(tmp_path: Path) -> SshRoom:
    return SshRoom(tmp_path / "trust")


@pytest.fixture
def desk(database: FleetDatabase, tmp_path: Path, room: SshRoom) -> Iterator[FleetDesk]:
    made = FleetDesk(database, tmp_path / "gateway", room)
    yield made
    made.close()


@pytest.fixture
def anna(database: FleetDatabase, room: SshRoom) -> Approver:
    return Approver(database, room, "anna")


def test_a_call_is_held_approved_elsewhere_and_runs_once(desk: FleetDesk, anna: Approver) -> None:
    held = desk.present()
    assert (held.outcome, held.fresh, len(held.entry.nonce)) == ("pending", True, 12)
    again = desk.present()
    assert (again.outcome, again.fresh, again.entry.nonce) == ("pending", False, held.entry.nonce)
    anna.approve(held.entry.nonce)
    used = desk.present()
    assert (used.outcome, used.entry.nonce, used.entry.by) == ("used", held.entry.nonce, "anna")
    fresh = desk.present()
    assert (fresh.outcome, fresh.fresh) == ("pending", True)
    assert desk.events() == ["hold", "approve", "consume", "hold"]
    assert stores.audit_log(desk.state).verify() == audit_log.Verification(4)


def test_the_same_call_of_another_gateway_is_held_on_its_own(
    desk: FleetDesk, anna: Approver, database: FleetDatabase, tmp_path: Path, room: SshRoom
) -> None:
    other = FleetDesk(database, tmp_path / "other", room)
    try:
        here, there = desk.present(), other.present()
        assert here.entry.nonce != there.entry.nonce
        anna.approve(here.entry.nonce)
        assert other.present().outcome == "pending"
        assert desk.present().outcome == "used"
        assert other.present().outcome == "pending"
    finally:
        other.close()


def test_a_decision_is_news(desk: FleetDesk, anna: Approver) -> None:
    held = desk.present().entry
    before = desk.calls.path.read_bytes()
    assert not desk.calls.is_decided(held.nonce, held.created)
    anna.approve(held.nonce)
    wait_until(lambda: desk.calls.path.read_bytes() != before)
    assert desk.calls.is_decided(held.nonce, held.created)
    (entry,) = desk.calls.entries()
    assert (entry.status, entry.by, entry.where) == ("approved", "anna", "fleet")


def test_a_no_wins_until_the_approval_is_used(
    desk: FleetDesk, anna: Approver, database: FleetDatabase, room: SshRoom
) -> None:
    bert = Approver(database, room, "bert")
    held = desk.present().entry
    anna.approve(held.nonce)
    bert.deny(desk.gateway.id, held.nonce, "no")
    denied = desk.present()
    assert (denied.outcome, denied.entry.why, denied.entry.by) == ("denied", "no", "bert")
    assert desk.events()[-1] == "deny"


@pytest.mark.parametrize(
    "changed", [{"until": 1_000.0}, {"need": 2}, {"verdict": "denied"}], ids=["too late", "need", "verdict"]
)
def test_a_signature_of_another_text_lets_nothing_run(desk: FleetDesk, anna: Approver, changed: dict[str, float]) -> None:
    held = desk.present().entry
    anna.approve(held.nonce, **changed)
    refused = desk.present()
    assert refused.outcome == "expired"
    assert refused.refusal
    assert desk.present().fresh
    assert desk.events() == ["hold", "forged", "hold"]


def test_a_key_that_this_machine_does_not_trust_lets_nothing_run(
    desk: FleetDesk, database: FleetDatabase, room: SshRoom
) -> None:
    mallory = Approver(database, room, "mallory", is_trusted=False)
    held = desk.present().entry
    mallory.approve(held.nonce)
    (entry,) = desk.calls.entries()
    assert entry.status == "pending", "nobody is woken for it"
    assert desk.present().outcome == "expired"


def test_what_the_owner_of_the_database_writes_lets_nothing_run(desk: FleetDesk, database: FleetDatabase) -> None:
    held = desk.present().entry
    owner = database.owner()
    owner.execute("UPDATE fleet.held SET status = 'approved', decided = clock_timestamp() WHERE nonce = %s", (held.nonce,))
    refused = desk.present()
    assert (refused.outcome, refused.entry.nonce) == ("expired", held.nonce)


@pytest.mark.parametrize(("ago", "events"), [("1 hour", ["hold", "forged"]), ("0", ["hold"])], ids=["long ago", "just now"])
def test_the_log_says_nothing_of_a_use_that_was_not_here(
    desk: FleetDesk, database: FleetDatabase, ago: str, events: list[str]
) -> None:
    held = desk.present().entry
    database.owner().execute(
        """
        WITH gone AS (DELETE FROM fleet.held WHERE nonce = %s RETURNING *, clock_timestamp() - %s::interval AS used)
        INSERT INTO fleet.held_closed (gateway, nonce, binding, session, requester, digest, entry, attempt, need, need_teams,
            wait, approval_window, created, expires, day, status, decided, who, place, why)
        SELECT gateway, nonce, binding, session, requester, digest, entry, attempt, need, need_teams,
            wait, approval_window, created, expires, (used AT TIME ZONE 'UTC')::date, 'used', used, 'anna', 'fleet', ''
        FROM gone""",
        (held.nonce, ago),
    )
    for _ in range(2):
        assert [entry.status for entry in desk.calls.entries()] == ["used"]
    assert desk.events() == events


def test_the_next_engine_says_that_a_call_ran(desk: FleetDesk, anna: Approver, monkeypatch: pytest.MonkeyPatch) -> None:
    held = desk.present().entry
    anna.approve(held.nonce)
    with monkeypatch.context() as broken:
        broken.setattr(FleetHeldCalls, "_note", lambda *_, **__: None)
        assert desk.present().outcome == "used"
    assert desk.events() == ["hold"]
    desk.client.close()
    desk.start()
    desk.calls.entries()
    assert desk.events() == ["hold", "approve", "consume"]


def test_an_entry_that_was_changed_is_not_ours(desk: FleetDesk, database: FleetDatabase) -> None:
    held = desk.present().entry
    change = "UPDATE fleet.held SET entry = convert_to(replace(convert_from(entry, 'UTF8'), 'rm -rf', 'ls'), 'UTF8')"
    database.owner().execute(f"{change} WHERE nonce = %s", (held.nonce,))
    assert desk.calls.entries() == []
    with pytest.raises(StoreError, match="the entry of a different call"):
        desk.present()
    assert "forged" in desk.events()


def test_a_rolled_back_database_lets_no_call_run_twice(desk: FleetDesk, anna: Approver, database: FleetDatabase) -> None:
    held = desk.present().entry
    anna.approve(held.nonce)
    owner = database.owner()
    owner.execute("CREATE TABLE fleet.backup AS SELECT * FROM fleet.held")
    assert desk.present().outcome == "used"
    owner.execute("DELETE FROM fleet.held_closed")
    owner.execute("INSERT INTO fleet.held SELECT * FROM fleet.backup")
    refused = desk.present()
    assert (refused.outcome, refused.refusal) == ("expired", "it was used on this machine before")
    owner.execute("DELETE FROM fleet.held_closed")
    owner.execute("INSERT INTO fleet.held SELECT * FROM fleet.backup")
    desk.close()
    desk.start()
    assert desk.present().outcome == "expired"


def test_an_approval_that_was_not_used_is_given_back_once(desk: FleetDesk, anna: Approver) -> None:
    held = desk.present().entry
    anna.approve(held.nonce)
    used = desk.present().entry
    again = desk.calls.give_back(used, used.created)
    assert again is not None
    assert again.status == "approved"
    assert desk.calls.give_back(used, used.created) is None
    assert desk.present().outcome == "used"
    assert desk.present().fresh
    assert desk.events() == ["hold", "approve", "consume", "approve", "consume", "hold"]


def test_a_lost_answer_is_given_again(desk: FleetDesk, anna: Approver, monkeypatch: pytest.MonkeyPatch) -> None:
    held = desk.present().entry
    anna.approve(held.nonce)
    with monkeypatch.context() as lost:
        lost.setattr(desk.client.link, "_take", print)
        hurry(desk, lost, 1.0)
        with pytest.raises(FleetAwayError, match="did not answer"):
            desk.present()
    assert desk.present().outcome == "used"
    assert desk.present().fresh


def test_chat_can_deny_but_not_approve(desk: FleetDesk) -> None:
    held = desk.present().entry
    with pytest.raises(StoreError, match="signature"):
        desk.calls.approve(held.nonce, CHAT, held.created, 30)
    assert desk.calls.deny(held.nonce[:4], CHAT, held.created, 300).status == "denied"
    assert desk.present().outcome == "denied"
    with pytest.raises(RefusedError, match="denied"):
        desk.calls.deny(held.nonce, CHAT, held.created, 300)
    assert desk.events() == ["hold", "deny"]


def test_a_checkpoint_closes_what_waited_for_it(desk: FleetDesk) -> None:
    desk.present("one")
    desk.present("two")
    (lapsed,) = desk.calls.lapse(lambda entry: entry.shown == "one", CHAT, 1.0)
    assert lapsed.shown == "one"
    assert [entry.shown for entry in desk.calls.entries() if entry.status == "pending"] == ["two"]


def test_lines_that_a_killed_engine_did_not_write_are_written_once(desk: FleetDesk, anna: Approver) -> None:
    held = desk.calls.present(desk.request(), desk.request().created, log=False).entry
    anna.approve(held.nonce)
    assert desk.events() == []
    for _ in range(3):
        desk.close()
        desk.start()
        desk.calls.entries()
    assert desk.events() == ["hold", "approve"]


def test_a_killed_courier_is_started_again(desk: FleetDesk, anna: Approver) -> None:
    held = desk.present().entry
    for _ in range(3):
        pid = wait_until(lambda: desk.client.link.pid)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda before=pid: desk.client.link.pid not in (None, before))  # type: ignore[misc]
    assert wait_until(lambda: asked(desk)) == "pending"
    anna.approve(held.nonce)
    assert wait_until(lambda: asked(desk)) == "used"


@pytest.mark.thorough
def test_a_courier_that_stands_still_is_replaced(desk: FleetDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    held = desk.present().outcome
    pid = desk.client.link.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    with monkeypatch.context() as impatient:
        hurry(desk, impatient, 0.5)
        for _ in range(2):
            with pytest.raises(FleetAwayError, match="did not answer"):
                desk.present()
    wait_until(lambda: desk.client.link.pid not in (None, pid))
    assert desk.present().outcome == held == "pending"


def hurry(desk: FleetDesk, patch: pytest.MonkeyPatch, seconds: float) -> None:
    """For questions that get no answer."""
    calls = cast("FleetHeldCalls", desk.calls)
    patch.setattr(calls, "_setup", structs.replace(calls._setup, seconds=seconds))


def asked(desk: FleetDesk) -> str:
    try:
        return desk.present().outcome
    except FleetAwayError:
        return ""


def test_the_courier_ends_with_its_engine(desk: FleetDesk) -> None:
    desk.present()
    pid = desk.client.link.pid
    assert pid is not None
    if sys.platform == "linux":  # no other system reveals it
        assert resource.prlimit(pid, resource.RLIMIT_DATA)[0] == toolguard_fleet.__main__.MEMORY
    desk.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("action", ["approve", "revive"])
def test_a_yes_in_chat_names_the_way_of_a_fleet(desk: FleetDesk, action: Literal["approve", "revive"]) -> None:
    approvals = Approvals(desk.calls, stores.grants(desk.state), time.time)
    nonce = desk.present().entry.nonce
    config = settings.parse({"fleet": {"enabled": True}})
    reply = approvals.decide(messages.PersonDecision(1, action, "chat", nonce), config)
    assert not reply.ok
    assert reply.text.startswith(f"{nonce} was not {action.removesuffix('e')}ed: in a fleet that needs your own login")
    assert f"run toolguard {action} {nonce}" in reply.text
    assert "approval.signers" not in reply.text


def test_a_gateway_that_has_not_joined_says_so(desk: FleetDesk) -> None:
    fleet_identity.path(desk.state).unlink()
    desk.close()
    desk.start()
    with pytest.raises(StoreError, match="toolguard fleet join"):
        desk.calls.gateway_id()
    assert desk.client.link.pid is None


def test_a_revoked_gateway_gets_no_answer(desk: FleetDesk, database: FleetDatabase) -> None:
    desk.present()
    database.owner().execute("SELECT fleet.revoke_gateway(%s)", (desk.gateway.id,))
    with pytest.raises(FleetRefusedError, match="revoked"):
        desk.present()


def test_a_revoked_gateway_is_not_approved_here_either(database: FleetDatabase, tmp_path: Path, room: SshRoom) -> None:
    desk = FleetDesk(database, tmp_path / "gateway", room, when_away="local")
    try:
        desk.present()
        database.owner().execute("SELECT fleet.revoke_gateway(%s)", (desk.gateway.id,))
        with pytest.raises(FleetRefusedError, match="revoked"):
            desk.present()
    finally:
        desk.close()


def test_a_server_whose_clock_is_wrong_lengthens_no_approval(desk: FleetDesk, anna: Approver) -> None:
    held = desk.present().entry
    anna.approve(held.nonce, until=held.created - 3_600)
    wait_until(lambda: desk.client.switch.status.is_connected)
    desk.client.switch.take(structs.replace(desk.client.switch.status, skew=-1e9))
    assert desk.present().outcome == "expired"


@pytest.mark.thorough
@pytest.mark.parametrize("skew", [-600.0, 600.0])
def test_a_clock_that_is_ten_minutes_wrong_changes_nothing(
    desk: FleetDesk, anna: Approver, monkeypatch: pytest.MonkeyPatch, skew: float
) -> None:
    """The clock of the gateway; the person's and the server's are right."""
    held = desk.present().entry
    wait_until(lambda: desk.client.switch.status.is_connected)
    anna.approve(held.nonce, until=held.created + 120)
    now = time.time() + skew
    monkeypatch.setattr(desk.client.switch, "take", lambda status: None)  # noqa: ARG005
    desk.client.switch._status = structs.replace(desk.client.switch.status, skew=-skew)
    assert desk.calls.present(desk.request(), now).outcome == "used"


def test_the_kill_switch_of_the_team_stays_without_contact(desk: FleetDesk, database: FleetDatabase) -> None:
    desk.present()
    wait_until(lambda: desk.client.switch.status.is_connected)
    assert desk.client.switch.why() == ""
    database.owner().execute("UPDATE fleet.team_state SET kill = true, kill_why = 'all mad' WHERE team = 'ops'")
    wait_until(desk.client.switch.why)
    assert desk.client.switch.why() == "stopped by ops's kill switch: all mad"
    desk.close()
    desk.start()
    assert desk.client.switch.why() == "stopped by ops's kill switch: all mad"
    database.owner().execute("UPDATE fleet.team_state SET kill = false WHERE team = 'ops'")
    desk.calls.gateway_id()
    wait_until(lambda: not desk.client.switch.why())


def test_the_end_of_an_approval_is_moved_while_its_agent_is_at_work(desk: FleetDesk, anna: Approver) -> None:
    nonce = desk.present().entry.nonce
    anna.approve(nonce)
    (entry,) = desk.calls.entries()
    wanted = entry.expires + 60
    desk.calls.move_ends([EndMove(nonce, wanted, "busy")], time.time())
    (moved,) = desk.calls.entries()
    assert (moved.status, moved.woken) == ("approved", "busy")
    assert moved.expires == pytest.approx(wanted, abs=2)
    desk.calls.move_ends([EndMove(nonce, entry.decided + 9_999, "later", "OpenClaw wakes no automation")], time.time())
    (moved,) = desk.calls.entries()
    assert (moved.woken, moved.asleep) == ("later", "OpenClaw wakes no automation")
    assert moved.expires == pytest.approx(entry.decided + MAX_APPROVED, abs=2)
    assert desk.present().outcome == "used"
    assert desk.calls.entries()[0].woken == ""


def test_a_database_of_an_earlier_version_moves_no_end(desk: FleetDesk, anna: Approver, database: FleetDatabase) -> None:
    nonce = desk.present().entry.nonce
    anna.approve(nonce)
    (entry,) = desk.calls.entries()
    database.owner().execute("DROP FUNCTION fleet.move_end")
    desk.calls.move_ends([EndMove(nonce, entry.expires + 60, "woken")], time.time())
    (same,) = desk.calls.entries()
    assert (same.status, same.woken) == ("approved", "woken")
    assert same.expires == pytest.approx(entry.expires, abs=2)
    assert desk.present().outcome == "used"
