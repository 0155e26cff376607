"""Repetition on the real gateway in the guard's modes, per agent, and beside the gateway's own loop detection."""

from __future__ import annotations

from typing import Any

import pytest

from gateway_stage import LOOP, NEW_HOST, NOTE, Played, Stage, audit, repeating, toolguard
from shared_gateway import APPLIED
from toolguard_cli.rig import model
from toolguard_cli.rig.model import call

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="seen on this release only: older ones take no change while they run")

FAST = {"enabled": True, "warningThreshold": 3, "criticalThreshold": 6, "globalCircuitBreakerThreshold": 9}
SLOW = {
    "enabled": True,
    "historySize": 100,
    "warningThreshold": 40,
    "criticalThreshold": 60,
    "globalCircuitBreakerThreshold": 90,
    "identicalErrors": {"warn": 40, "stop": 60},
}
HI = call("exec", {"command": "echo hi"})
MISSING = call("read", {"path": "nope.txt"})
MOST = 12

HOST_NOTE = "[System note: Tool-loop warning"
HOST_VETO = "CRITICAL: Called exec with identical outcomes 20 times"
TWO_AGENTS = {"agents": {"entries": {"main": {"default": True}, "other": {}}}}
HOST_DETECTS = {"tools": {"loopDetection": {"enabled": True}}}


def loop(stage: Stage, reply: model.Reply = HI, **more: Any) -> Played:
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


def test_the_mode_can_be_switched_while_the_gateway_runs(linked, wait) -> None:
    stage = linked.under(mode="soft", loopDetection=FAST)
    soft = loop(stage)
    assert is_ended(soft)
    assert {code for _, code in events(stage, soft)} == {"loop.repeat"}

    switch(stage, wait, "set", "mode", "shadow")
    watched = loop(stage)
    assert not is_ended(watched)
    assert watched.results == ["hi"] * MOST
    assert watched.turn.answer == "Stopped."
    told = events(stage, watched)
    assert told[0] == ("note", "loop.repeat")
    assert ("would-refuse", "shadow.loop.repeat") in told
    shown = toolguard(stage.home, "audit", "show", "--json")
    assert '"shadow.loop.repeat"' in shown.stdout

    switch(stage, wait, "set", "mode", "enforce")
    assert is_ended(loop(stage))
    switch(stage, wait, "set", "mode", "soft")
    assert is_ended(loop(stage))


def test_in_shadow_mode_the_same_failure_is_only_told(linked) -> None:
    stage = linked.under(mode="shadow")
    played = loop(stage, MISSING)
    assert not is_ended(played)
    assert {text for text in played.results if "File not found" in text} == set(played.results)
    assert events(stage, played) == [("note", "loop.same-error"), ("stop", "loop.same-error")]


def test_each_agent_has_its_own(linked) -> None:
    stage = linked.under(host=TWO_AGENTS, mode="shadow", agents={"other": {"mode": "enforce", "loopDetection": FAST}})
    main, other = loop(stage), loop(stage, agent="other")
    assert not is_ended(main)
    assert events(stage, main) == []
    assert is_ended(other)
    assert other.turn.answer == "Stopped."


def test_the_gateways_own_detection_does_not_hide_ours(linked) -> None:
    stage = linked.under(host=HOST_DETECTS, loopDetection=FAST)
    played = loop(stage)
    assert is_ended(played)
    assert played.turn.answer == "Stopped."
    assert not any(HOST_NOTE in text for text in played.results)
    same = loop(stage, MISSING)
    assert same.noted == [3]
    assert len(same.requests) == 8
    assert same.turn.answer == "Stopped."


def test_ours_does_not_hide_the_gateways_own_detection(linked) -> None:
    stage = linked.under(host=HOST_DETECTS, loopDetection=SLOW)

    def script(request: model.Request) -> model.Reply:
        return HI if request.tools and HOST_VETO not in request.last_result else model.Reply("Something else.")

    played = stage.play(script)
    assert any(HOST_NOTE in text for text in played.results)
    assert played.results[-1].startswith(HOST_VETO)
    assert len(played.results) == 21
    assert played.turn.answer == "Something else."
    assert not any(word in text for text in played.results for word in (NOTE, LOOP))
    again = stage.play(repeating(HI, most=3), played.session, "once more")
    assert again.turn.answer == "Stopped."
