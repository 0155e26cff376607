"""A held call on the real gateway: it waits under a nonce, runs once after a yes, and never otherwise."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from gateway_stage import ALL_WAITS, MAX_FAILURES, NEW_HOST, Played, Stage, audit, endless, nonces, once, toolguard, waiting
from shared_gateway import Shared
from toolguard_cli.rig import scripted_model
from toolguard_engine.approvals.ledger import Decision

ESCALATE = "TOOLGUARD_ESCALATE|"


@pytest.fixture
def held(shared: Shared) -> Stage:
    """A gateway that asks for every `exec`; nobody is woken, so that a test says itself when a call is repeated."""
    return shared.under(**ALL_WAITS)


def command(text: str, **more: object) -> scripted_model.Reply:
    return scripted_model.call("exec", {"command": text, **more})


def hold(stage: Stage, reply: scripted_model.Reply, session: str) -> str:
    """The model makes this call once; the nonce under which it waits."""
    before = {entry.nonce for entry in waiting(stage.home)}
    played = stage.play(once(reply), session)
    (entry,) = [entry for entry in waiting(stage.home) if entry.nonce not in before]
    assert played.results[-1].startswith(f"{ESCALATE}{entry.nonce}|")
    assert f"toolguard approve {entry.nonce}" in played.results[-1]
    return entry.nonce


def approve(stage: Stage, nonce: str) -> None:
    done = toolguard(stage.home, "approve", nonce[:6], "--yes")
    assert done.returncode == 0, done.stdout + done.stderr


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_an_approved_call_runs_exactly_once(held: Stage) -> None:
    trace, call = held.home.workspace_dir / "once.txt", command("echo ran >> once.txt")
    nonce = hold(held, call, "agent:main:once")
    assert lines(trace) == []
    approve(held, nonce)
    played = held.play(once(call, call), "agent:main:once")
    assert lines(trace) == ["ran"]
    assert played.results[-1].startswith(ESCALATE)
    assert nonce not in played.results[-1]
    assert [e["event"] for e in audit(held.home) if e.get("nonce") == nonce and e["event"] != "kept"] == [
        "hold",
        "approve",
        "consume",
    ]


@pytest.mark.skipif(not NEW_HOST, reason="no Tool Search")
@pytest.mark.thorough
def test_a_call_through_tool_search_is_bound_as_the_inner_tool(held: Stage) -> None:
    """The yes is for the tool inside and its arguments, so the direct call may use it, and no other inner call."""
    room, inner = "agent:main:inner", {"command": "echo ran >> inner.txt"}
    played = held.play(once(scripted_model.call("tool_call", {"id": "exec", "args": inner})), room)
    (entry,) = [entry for entry in waiting(held.home) if entry.session == room]
    assert f"{ESCALATE}{entry.nonce}|" in played.results[-1]
    assert entry.tool == "exec"
    approve(held, entry.nonce)
    other = scripted_model.call("tool_call", {"id": "exec", "args": {**inner, "env": {"A": "1"}}})
    assert ESCALATE in held.play(once(other), room).results[-1]
    held.play(once(command("echo ran >> inner.txt")), room)
    assert lines(held.home.workspace_dir / "inner.txt") == ["ran"]


def test_a_model_that_repeats_a_held_call_is_told_once_and_ended(held: Stage) -> None:
    played = held.play(endless(command("echo ran >> loop.txt")))
    (entry,) = [e for e in waiting(held.home) if "loop.txt" in e.shown]
    assert len(played.requests) <= 2 + NEW_HOST + 1 <= MAX_FAILURES + 1
    assert [text.partition("\n")[0] for text in played.results] == [
        f"{ESCALATE}{entry.nonce}|{entry.reason} Call: {entry.shown}",
        f"{ESCALATE}{entry.nonce}|This call is already waiting for a decision.",
    ]
    assert f"toolguard approve {entry.nonce}" in played.results[-1]
    if NEW_HOST:
        assert f"toolguard approve {entry.nonce}" in played.requests[-1].texts("assistant")[-1]
    assert played.turn.ok
    assert held.play(once()).turn.answer == "Done."


@pytest.mark.thorough
def test_calls_that_vary_are_ended_too(held: Stage) -> None:
    played: Played = held.play(
        lambda r: command(f"echo {r.index} >> vary.txt") if r.tools and r.index < 40 else scripted_model.Reply("Stopped.")
    )
    assert len(played.requests) <= MAX_FAILURES + 2
    assert lines(held.home.workspace_dir / "vary.txt") == []


@pytest.mark.thorough
def test_approved_in_the_middle_of_a_run_that_repeats_it(held: Stage) -> None:
    """The run is not ended although it repeats itself: by now the call may run."""
    call = command("echo ran >> middle.txt")

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if request.index == 2:
            approve(held, waiting(held.home)[-1].nonce)
        return call if request.tools and request.index < 3 else scripted_model.Reply("Done.")

    played = held.play(script)
    assert lines(held.home.workspace_dir / "middle.txt") == ["ran"]
    assert played.turn.answer == "Done."


@pytest.mark.thorough
def test_a_restart_loses_nothing_and_no_engine_outlives_its_gateway(held: Stage, wait) -> None:
    """Killed or ended: starts are dear, so one test is about both laws."""
    call = command("echo ran >> restart.txt")
    nonce = hold(held, call, "agent:main:restart")
    assert len(held.engines()) == 1
    held.gateway.stop(signal.SIGKILL)
    wait(lambda: held.engines() == [])
    held.gateway.start()
    assert nonce in held.play(once(call), "agent:main:restart").results[-1], "the same call keeps its nonce"
    assert len(held.engines()) == 1
    held.gateway.stop(signal.SIGTERM)
    wait(lambda: held.engines() == [])
    nonces(held.home).approve(nonce, Decision("ann", "cli"), time.time(), 3_600)  # a start may outlast a window
    held.gateway.start()
    held.play(once(call), "agent:main:restart")
    assert lines(held.home.workspace_dir / "restart.txt") == ["ran"]


@pytest.mark.thorough
def test_the_engine_killed_between_approval_and_retry(held: Stage, wait) -> None:
    call = command("echo ran >> killed.txt")
    nonce = hold(held, call, "agent:main:killed")
    approve(held, nonce)
    (pid,) = held.engines()
    os.kill(pid, signal.SIGKILL)
    held.play(once(call), "agent:main:killed")
    assert lines(held.home.workspace_dir / "killed.txt") == ["ran"]


@pytest.mark.thorough
def test_a_damaged_store_approves_nothing(held: Stage) -> None:
    call = command("echo ran >> damaged.txt")
    approve(held, hold(held, call, "agent:main:damaged"))
    store = held.home.state_dir / "toolguard" / "nonces.json"
    whole = store.read_bytes()
    store.write_bytes(whole[: len(whole) // 2])
    try:
        reported = held.play(once(call), "agent:main:damaged").results[-1]
        assert reported.startswith(
            "TOOLGUARD_BLOCK|This call needs a person's approval, but approvals are unavailable (store.damaged)."
        )
        assert lines(held.home.workspace_dir / "damaged.txt") == []
        (kept,) = store.parent.glob("nonces.json.corrupt-*")
        assert kept.read_bytes() == whole[: len(whole) // 2]
        answer = toolguard(held.home, "pending")
        assert (answer.returncode, "doctor --fix" in answer.stdout + answer.stderr) == (1, True)
    finally:
        for kept in store.parent.glob("nonces.json.corrupt-*"):
            kept.unlink()


def test_the_audit_log_is_whole(held: Stage) -> None:
    done = toolguard(held.home, "audit", "verify")
    assert done.returncode == 0, done.stdout


@pytest.mark.thorough
def test_a_revived_call_is_made_again_and_held_anew(shared: Shared, wait) -> None:
    stage = shared.under(alwaysBlock=["exec"], approval={"wake": True})
    session, call = "agent:main:revived", command("echo ran >> revived.txt")
    nonce = hold(stage, call, session)
    nonces(stage.home).settle(nonce, "expired", Decision("", "native"), time.time())  # nobody answered
    stage.server.play(once(call))
    done = toolguard(stage.home, "revive", nonce)
    assert (done.returncode, "the agent is woken" in done.stdout) == (0, True)
    wait(lambda: [entry for entry in waiting(stage.home) if entry.session == session])
    (entry,) = [entry for entry in waiting(stage.home) if entry.session == session]
    assert entry.nonce != nonce
    assert lines(stage.home.workspace_dir / "revived.txt") == []
    assert [e["event"] for e in audit(stage.home) if e.get("nonce") == nonce and e["event"] != "kept"] == [
        "hold",
        "expire",
        "revive",
    ]
