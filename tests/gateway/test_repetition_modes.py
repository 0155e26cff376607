"""Repetition on the real gateway in the guard's modes, per agent, and beside the gateway's own loop detection."""

from __future__ import annotations

from typing import Any

import pytest

from gateway_stage import LOOP, NEW_HOST, NOTE, Played, Stage, audit, repeating, toolguard
from shared_gateway import APPLIED
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.scripted_model import call

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="seen on this release only: older ones take no change while they run")

HI = call("exec", {"command": "echo hi"})
MISSING = call("read", {"path": "nope.txt"})
MOST = 12

HOST_NOTE = "[System note: Tool-loop warning"
HOST_VETO = "CRITICAL: Called exec with identical outcomes 20 times"


def loop(stage: Stage, reply: scripted_model.Reply = HI, **more: Any) -> Played:
    return stage.play(repeating(reply, most=MOST), **more)


def is_ended(played: Played) -> bool:
    """Warned, and ended at the thresholds of `FAST`. Fails where it was anything in between."""
    if not played.noted and len(played.requests) == MOST + 1:
        assert not any(LOOP in text for text in played.results)
        return False
    assert played.noted == [3]
    assert len(played.requests) == 9
    return True


def events(stage: Stage, played: Played) -> list[tuple[str, str]]:
    found = [event for event in audit(stage.home) if event.get("session") == played.session]
    return [(event["event"], event["code"]) for event in found]


def switch(stage: Stage, wait, *change: str) -> None:
    """Changes the config as a person would, and waits until the gateway says that it runs under it."""
    before = stage.gateway.log_text().count(APPLIED)
    done = toolguard(stage.home, "config", *change)
    assert done.returncode == 0, done.stdout + done.stderr
    wait(lambda: stage.gateway.log_text().count(APPLIED) > before)


@pytest.mark.thorough
def test_soft_mode_acts_as_well(stage) -> None:
    played = loop(stage, agent="soft")
    assert is_ended(played)
    assert played.turn.answer == "Stopped."
    assert {code for _, code in events(stage, played)} == {"loop.repeat"}


@pytest.mark.thorough
def test_in_shadow_mode_it_is_only_told(stage) -> None:
    played = loop(stage, agent="watched")
    assert not is_ended(played)
    assert played.results == ["hi"] * MOST
    assert played.turn.answer == "Stopped."
    reported = events(stage, played)
    assert reported[0] == ("note", "loop.repeat")
    assert ("would-refuse", "shadow.loop.repeat") in reported
    shown = toolguard(stage.home, "audit", "show", "--json")
    assert '"shadow.loop.repeat"' in shown.stdout


@pytest.mark.thorough
def test_the_mode_can_be_switched_while_the_gateway_runs(stage, wait) -> None:
    before = loop(stage, MISSING)
    assert before.noted == [3]
    assert len(before.requests) == 8
    switch(stage, wait, "set", "mode", "shadow")
    watched = loop(stage, MISSING)
    switch(stage, wait, "unset", "mode")
    assert not is_ended(watched)
    assert events(stage, watched)[:2] == [("note", "loop.same-error"), ("would-refuse", "shadow.loop.same-error")]
    after = loop(stage, MISSING)
    assert after.noted == [3]
    assert len(after.requests) == 8


@pytest.mark.thorough
def test_the_gateways_own_detection_does_not_hide_ours(stage) -> None:
    played = loop(stage, agent="both-fast")
    assert is_ended(played)
    assert played.turn.answer == "Stopped."
    assert not any(HOST_NOTE in text for text in played.results)
    same = loop(stage, MISSING, agent="both-fast")
    assert same.noted == [3]
    assert len(same.requests) == 8
    assert same.turn.answer == "Stopped."


@pytest.mark.thorough
def test_ours_does_not_hide_the_gateways_own_detection(stage) -> None:
    def script(request: scripted_model.Request) -> scripted_model.Reply:
        return HI if request.tools and HOST_VETO not in request.last_result else scripted_model.Reply("Something else.")

    played = stage.play(script, agent="both-slow")
    assert any(HOST_NOTE in text for text in played.results)
    assert played.results[-1].startswith(HOST_VETO)
    assert len(played.results) == 21
    assert played.turn.answer == "Something else."
    assert not any(word in text for text in played.results for word in (NOTE, LOOP))
    again = stage.play(repeating(HI, most=3), played.session, "once more")
    assert again.turn.answer == "Stopped."
