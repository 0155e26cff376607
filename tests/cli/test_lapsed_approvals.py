"""A yes whose call did not run in time is seen, and one command asks again.

The fifth place, the dashboard, is in `dashboard/test_dashboard_board.py`.
"""

from __future__ import annotations

import time

import pytest
from cli_stage import texts
from held_stage import hold, status_of
from notify_stage import Receiver, Stage, serving

from toolguard_cli.approvals import held_calls
from toolguard_cli.commands import approve, pending, revive, show_status
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.ledger import REVIVED, Decision, HeldCall
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.nonces import FileNonces

ANNA = Decision("anna", "cli", "release day")


def lapsed(places: Places) -> HeldCall:
    """Approved a minute ago, for 30 seconds; the engine has closed it since."""
    store, then = FileNonces(places.state_dir), time.time() - 60
    held = hold(places, now=then)
    store.approve(held.nonce, ANNA, then, 30)
    store.sweep(time.time())
    return held


def test_in_the_audit_log(places: Places) -> None:
    held = lapsed(places)
    line = list(AuditLog(places.state_dir).events())[-1]
    assert {name: line[name] for name in ("event", "nonce", "by", "where", "why")} == {
        "event": "lapsed", "nonce": held.nonce, "by": "anna", "where": "cli", "why": "release day",
    }  # fmt: skip


def test_as_a_notification(places: Places) -> None:
    with serving(Receiver()) as hook:
        stage = Stage(places, targets={"hook": {"webhook": f"http://127.0.0.1:{hook.port}/"}})
        stage.step(time.time())  # from here on
        held = lapsed(places)
        stage.step(time.time())
        (body,) = [each for each in hook.bodies if each["event"] == "lapsed"]
    assert f"An approval lapsed: its call did not run ({held.nonce})" in body["title"]
    assert f"To ask it again: toolguard revive {held.nonce}" in body["text"]


def test_in_status(places: Places) -> None:
    held = lapsed(places)
    result = show_status.run(places)
    assert (result.data["held"]["missed"], result.data["held"]["lapsed"]) == (0, 1)
    assert texts(result)[0] == (
        f"1 approval lapsed unused in the last 24 hours; the latest is {held.nonce} (toolguard pending --missed)"
    )


def test_among_what_was_missed(places: Places) -> None:
    held = lapsed(places)
    result = pending.run(places, missed=True)
    assert [(each["nonce"], each["lapsed"]) for each in result.data["missed"]] == [(held.nonce, True)]
    assert pending.APPROVED_LAPSED in "\n".join(texts(pending.run(places, everything=True)))
    head, row, then = texts(result)
    assert head.split() == ["NONCE", "WHAT", "EXPIRED", "WAITED", "TOOL", "AGENT", "CALL"]
    assert "approved, lapsed" in row
    assert then.startswith(f"toolguard revive {held.nonce}")


def test_the_answer_to_another_yes_names_the_command(places: Places) -> None:
    held = lapsed(places)
    with pytest.raises(UserError, match="was approved by anna, but did not run before") as caught:
        approve.run(places, held.nonce, yes=True)
    assert caught.value.fix.startswith(f"toolguard revive {held.nonce}")


def test_one_command_asks_again_and_approves_nothing(places: Places) -> None:
    held = lapsed(places)
    assert texts(revive.run(places, held.nonce))[0].startswith(f"revived {held.nonce}")
    (entry,) = FileNonces(places.state_dir).entries()
    assert (entry.status, entry.why) == ("expired", REVIVED)
    assert FileNonces(places.state_dir).present(held, time.time()).outcome == "pending"


def test_one_command_asks_again_and_approves(places: Places) -> None:
    held = lapsed(places)
    result = revive.run(places, held.nonce, approve=True, yes=True)
    fresh = result.data["nonce"]
    assert fresh != held.nonce
    assert status_of(places, fresh) == "approved"
    assert "no gateway runs here, so the agent is not woken" in texts(result)[-1]
    assert FileNonces(places.state_dir).present(held, time.time()).entry.nonce == fresh


def test_before_it_is_approved_again_it_is_said_to_have_lapsed(places: Places) -> None:
    held = lapsed(places)
    (entry,) = FileNonces(places.state_dir).entries()
    assert held_calls.details(entry, time.time())[0] == f"{held.nonce} approved, but did not run"


def test_it_is_asked_for_again_once(places: Places) -> None:
    held = lapsed(places)
    revive.run(places, held.nonce)
    with pytest.raises(UserError, match="was revived at"):
        revive.run(places, held.nonce)
