"""An approval reaches its call where the real gateway runs heartbeats, in the main session or in one of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway_stage import NEW_HOST, Stage, audit, once, toolguard, waiting
from operator_client import Operator
from shared_gateway import Shared
from toolguard_cli.rig import scripted_model
from toolguard_engine.approvals.ledger import HeldCall

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="heartbeats differ before")

SETTINGS = {"alwaysBlock": ["exec"], "approvalWindowMs": 120_000, "pendingTimeoutMs": 600_000}
"""OpenClaw wakes an agent five times a minute at most; later wakes have to wait."""

LEAST = 10
"""Seconds; the shortest window that the settings allow."""

MARKER = "(heartbeat)"
"""In the message of each heartbeat, also of those that wake an agent."""

OWN = ":heartbeat"
"""Behind the name of the main session, that of the session which heartbeats have to themselves."""

Wait = Callable[[Callable[[], bool]], None]


def heartbeats(*, isolated: bool) -> dict[str, Any]:
    """They are due in half an hour, and deliver nothing: without an owner to whom to deliver there would be none."""
    heartbeat = {"every": "30m", "target": "none", "prompt": f"Look around {MARKER}", "isolatedSession": isolated}
    return {"agents": {"defaults": {"heartbeat": heartbeat}}}


def command(name: str) -> scripted_model.Reply:
    return scripted_model.call("exec", {"command": f"echo ran >> {name}.txt"})


def obedient(name: str, nonce: str) -> scripted_model.Script:
    """Makes the call if it was told that this one is approved; otherwise it has nothing to do."""
    told = f"The user approved the call that waited under {nonce}"

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        is_told = any(told in text for text in request.texts("user"))
        return command(name) if is_told and request.index == 0 else scripted_model.Reply("NO_REPLY")

    return script


def beat(stage: Stage, script: scripted_model.Script) -> None:
    """One heartbeat, now."""
    stage.server.play(script, MARKER)
    with Operator(stage.home) as owner:
        assert owner.call("wake", {"mode": "now", "text": "Look around."}) == {"ok": True}


def held(stage: Stage, session: str, wait: Wait) -> HeldCall:
    """The call that waits in this session, whose run is over."""
    wait(lambda: any(each.session == session for each in waiting(stage.home)) and len(stage.server.requests) > 1)
    (entry,) = [each for each in waiting(stage.home) if each.session == session]
    return entry


@contextmanager
def switched_off(stage: Stage) -> Iterator[None]:
    """As by `openclaw system heartbeat disable`."""
    with Operator(stage.home) as owner:
        owner.call("set-heartbeats", {"enabled": False})
        try:
            yield
        finally:
            owner.call("set-heartbeats", {"enabled": True})


def events(stage: Stage, nonce: str) -> list[str]:
    return [line["event"] for line in audit(stage.home) if line.get("nonce") == nonce and line["event"] != "kept"]


def approved_runs_once(stage: Stage, entry: HeldCall, name: str, wait: Wait) -> None:
    stage.server.play(obedient(name, entry.nonce), MARKER)
    said = toolguard(stage.home, "approve", entry.nonce, "--yes").stdout
    assert "the agent is resumed" in said or "the agent is at work" in said
    has_run_once(stage, entry, name, wait)


def has_run_once(stage: Stage, entry: HeldCall, name: str, wait: Wait) -> None:
    path = stage.home.workspace_dir / f"{name}.txt"
    wait(lambda: len(events(stage, entry.nonce)) > 2)
    assert events(stage, entry.nonce) == ["hold", "approve", "consume"]
    wait(lambda: path.exists() and path.read_text() == "ran\n")
    assert [each for each in waiting(stage.home) if each.session == entry.session] == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "session",
    [
        pytest.param("agent:main:main", id="in the main session"),
        pytest.param(f"agent:main:main{OWN}", id="in a session of its own"),
    ],
)
def test_an_approval_for_a_heartbeat_wakes_it(shared: Shared, wait: Wait, session: str) -> None:
    stage = shared.under(host=heartbeats(isolated=session.endswith(OWN)), **SETTINGS)
    name = session.rpartition(":")[2]
    beat(stage, once(command(name)))
    approved_runs_once(stage, held(stage, session, wait), name, wait)


@pytest.mark.thorough
def test_an_approval_for_a_chat_counts_where_heartbeats_have_sessions_of_their_own(shared: Shared, wait: Wait) -> None:
    stage = shared.under(host=heartbeats(isolated=True), **SETTINGS)
    stage.play(once(command("chat")), "agent:main:chat")
    approved_runs_once(stage, held(stage, "agent:main:chat", wait), "chat", wait)


@pytest.mark.thorough
@pytest.mark.parametrize("session", ["agent:main:main", f"agent:main:main{OWN}"])
def test_an_approval_waits_for_the_next_heartbeat_where_they_are_switched_off(
    shared: Shared, wait: Wait, session: str
) -> None:
    stage = shared.under(host=heartbeats(isolated=session.endswith(OWN)), **{**SETTINGS, "approvalWindowMs": LEAST * 1_000})
    name = f"off-{session.rpartition(':')[2]}"
    beat(stage, once(command(name)))
    entry = held(stage, session, wait)
    with switched_off(stage):
        said = toolguard(stage.home, "approve", entry.nonce, "--yes").stdout
        assert "the agent could not be woken (heartbeats are switched off" in said
        assert "it is told at its next run" in said
        time.sleep(LEAST + 1)  # the window would be over
    ls = scripted_model.call("exec", {"command": "ls"})
    beat(stage, once(scripted_model.call("read", {"path": "workspace.md"}), command(name), ls))
    has_run_once(stage, entry, name, wait)
    wait(lambda: len(stage.server.requests) > 2)
    told = f"The user approved the call that waited under {entry.nonce}"
    assert sum(told in text for text in stage.server.requests[2].texts("tool")) == 1
