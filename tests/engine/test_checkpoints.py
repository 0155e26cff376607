"""What a checkpoint does beside the budget: held calls that waited for it, and the lines of the audit log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine_talk import answered
from test_held_calls import Scene
from toolguard_engine.approvals.ledger import LAPSED, Decision
from toolguard_engine.wire import messages

CONFIG = {"alwaysBlock": [], "budget": {"mode": "enforce", "toolRiskMap": {"note_down": "HIGH"}}}
ANN = Decision("ann", "cli")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path, CONFIG)


def note(scene: Scene, number: int, **more: Any) -> messages.VerdictAnswer:
    place = scene.place(run=f"r{number}", **more)
    answer = answered(scene.session, messages.Judge(1, "note_down", {"text": f"line {number}"}, **place))
    assert isinstance(answer, messages.VerdictAnswer)
    return answer


def spend(scene: Scene, **more: Any) -> None:
    """Two calls of 0.4; the next one costs more than is left."""
    assert [note(scene, number, **more).decision for number in (-1, -2)] == ["allow"] * 2


def checkpoint(scene: Scene, session: str) -> str:
    reported = answered(scene.session, messages.PersonDecision(1, "checkpoint", "chat", by="ann", session=session))
    assert isinstance(reported, messages.DecisionReply)
    return reported.text


def lines(scene: Scene) -> list[tuple[str, str]]:
    """What the session itself has for the audit log."""
    scene.session.settle()
    return [(event.event, event.code) for event in scene.session.outbox.take_events()]


def test_a_checkpoint_in_chat_closes_what_waited_for_it(scene: Scene) -> None:
    spend(scene)
    spend(scene, session="other")
    for number, session in ((1, "s"), (2, "s"), (3, "other")):
        assert note(scene, number, session=session).code == "approval.pending"
    reported = checkpoint(scene, "s")
    assert reported.startswith("checkpoint: 1 budget refilled; 2 held calls are no longer waiting: ")
    found = [(entry.session, entry.status, entry.why, entry.by) for entry in scene.store.entries()]
    assert sorted(found) == [
        ("other", "pending", "", ""), ("s", "expired", LAPSED, "ann"), ("s", "expired", LAPSED, "ann"),
    ]  # fmt: skip
    assert note(scene, 1).decision == "allow"
    assert note(scene, 3, session="other").decision == "hold"
    assert checkpoint(scene, "s") == "checkpoint: 1 budget refilled"


def test_calls_that_are_held_for_something_else_go_on_waiting(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {**CONFIG, "alwaysBlock": ["exec"]})
    spend(scene)
    assert scene.ask().decision == "hold"
    assert checkpoint(scene, "s") == "checkpoint: 1 budget refilled"
    assert [entry.status for entry in scene.store.entries()] == ["pending"]


def test_an_approval_that_was_a_checkpoint_says_so_and_a_held_call_is_told_once(scene: Scene) -> None:
    spend(scene)
    assert note(scene, 1).decision == "hold"
    assert lines(scene) == []  # the store has a line `hold`
    (entry,) = scene.store.entries()
    assert (entry.code, "Approving it also counts as a checkpoint" in entry.reason) == ("budget.exhausted", True)
    scene.store.approve(entry.nonce, ANN, scene.now, 30)
    assert note(scene, 1).decision == "allow"
    (event,) = scene.session.outbox.take_events()
    assert (event.event, event.code, event.nonce, event.agent) == ("checkpoint", "budget.checkpoint", entry.nonce, "main")
    assert note(scene, 2).decision == "allow"


def test_a_yes_in_the_gateways_own_prompt_is_a_checkpoint_too(scene: Scene) -> None:
    spend(scene)
    assert note(scene, 1, native=True).prompt is not None
    (entry,) = scene.store.entries()
    for _ in range(2):  # once more changes nothing
        answered(scene.session, messages.Resolved(2, entry.nonce, "used", by="ann"))
    assert ("checkpoint", "budget.checkpoint") in lines(scene)
    assert [note(scene, number).decision for number in (2, 3, 4)] == ["allow", "allow", "hold"]


def test_an_approval_of_another_kind_is_no_checkpoint(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {**CONFIG, "alwaysBlock": ["exec"]})
    assert scene.ask().decision == "hold"
    scene.store.approve(scene.store.entries()[0].nonce, ANN, scene.now, 30)
    assert scene.ask().decision == "allow"
    assert lines(scene) == []


def test_what_is_only_told_is_named_for_what_it_is_about(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {**CONFIG, "budget": {**CONFIG["budget"], "mode": "shadow", "drift": {"outwardCalls": 0}}})  # type: ignore[dict-item]
    spend(scene)
    assert lines(scene) == []
    assert note(scene, 1).decision == "allow"
    assert lines(scene) == [("budget", "budget.exhausted")]
