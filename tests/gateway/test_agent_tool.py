"""`toolguard_approve`, the tool with which an agent passes a yes on: not there unless the settings allow it."""

from __future__ import annotations

import json

import pytest

from gateway_stage import NEW_HOST, Stage, audit, nonces, once
from shared_gateway import Shared
from standings_seen import batch, results
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.real_gateway import openclaw
from toolguard_engine.approvals.ledger import HeldCall

TOOL = "toolguard_approve"
ESCALATE = "TOOLGUARD_ESCALATE|"

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="this release has no Tool Search")


@pytest.fixture
def off(shared: Shared) -> Stage:
    return shared.under(alwaysBlock=["write"], approval={"wake": False})


@pytest.fixture
def on(shared: Shared) -> Stage:
    return shared.under(alwaysBlock=["write"], approval={"agentTool": True, "wake": False})


def writing(name: str) -> scripted_model.Reply:
    return scripted_model.call("write", {"path": name, "content": "written\n"})


def directly(nonce: str) -> scripted_model.Reply:
    return scripted_model.call(TOOL, {"nonce": nonce, "reason": "the user said yes"})


def searched(nonce: str, tool: str = TOOL) -> scripted_model.Reply:
    return scripted_model.call("tool_call", {"id": tool, "args": {"nonce": nonce, "reason": "the user said yes"}})


def book(stage: Stage) -> dict[str, HeldCall]:
    return {entry.nonce: entry for entry in nonces(stage.home).entries()}


def held(stage: Stage, name: str) -> HeldCall:
    stage.play(once(writing(name)), f"agent:main:{name}")
    (entry,) = [e for e in book(stage).values() if e.session == f"agent:main:{name}" and e.status == "pending"]
    return entry


def whole_nonce(request: scripted_model.Request) -> str:
    """As a model would find it: in the newest result."""
    return request.last_result.split("|")[1]


@pytest.mark.thorough
def test_it_is_off_by_default(off) -> None:
    """Under no name, and it is not found either."""
    name = "off.txt"
    entry = held(off, name)
    named = [searched(entry.nonce, tool) for tool in (TOOL, f"openclaw:core:{TOOL}", f"toolguard:{TOOL}")]
    search = scripted_model.call("tool_search", {"query": "toolguard approve held call nonce"})
    tries = batch(directly(entry.nonce), *named, search)
    played = off.play(once(tries, writing(name)), entry.session, "I approve it")
    *tried, found, again = results(played)
    assert [text for text in tried if "approved" in text.lower()] == []
    assert len(tried) == 4
    assert TOOL not in found
    assert again.startswith(ESCALATE)
    assert book(off)[entry.nonce] == entry
    assert not (off.home.workspace_dir / name).exists()
    assert "approve" not in [line["event"] for line in audit(off.home) if line.get("session") == entry.session]


def test_it_lets_the_held_call_run_where_it_is_on(on) -> None:
    """In one run: held, approved by the agent itself, repeated."""

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if not request.tools or request.index > 2:
            return scripted_model.Reply("Written.")
        return [lambda: writing("on.txt"), lambda: searched(whole_nonce(request)), lambda: writing("on.txt")][
            request.index
        ]()

    played = on.play(script, "agent:main:on")
    assert played.results[0].startswith(ESCALATE)
    assert "approved " in played.results[1]
    assert "Successfully wrote" in played.results[2]
    assert (on.home.workspace_dir / "on.txt").read_text() == "written\n"
    lines = [line for line in audit(on.home) if line.get("session") == "agent:main:on" and line["event"] != "kept"]
    assert [line["event"] for line in lines] == ["hold", "approve", "consume"]
    assert {name: lines[1][name] for name in ("where", "by", "why")} == {
        "where": "tool",
        "by": "agent",
        "why": "the user said yes",
    }


@pytest.mark.thorough
def test_it_works_once(on) -> None:
    entry = held(on, "again.txt")
    played = on.play(
        once(searched(entry.nonce), writing("again.txt"), searched(entry.nonce), writing("again.txt")), entry.session
    )
    assert "was used at" in played.results[-2]
    assert played.results[-1].startswith(ESCALATE)
    assert entry.nonce not in played.results[-1]


@pytest.mark.thorough
def test_a_nonce_that_is_none_approves_nothing(on) -> None:
    """Nor does a call without one, which is malformed."""
    wrong = ["", "abc", "0123face", "*", "../key", "\x1b[2J", "a" * 5_000]
    before = [entry.nonce for entry in book(on).values() if entry.status in ("approved", "used")]
    without = scripted_model.call("tool_call", {"id": TOOL, "args": {}})
    reported = results(on.play(once(batch(*map(searched, wrong), without))))
    assert len(reported) == len(wrong) + 1
    assert [text for text in reported if "approved " in text or len(text) >= 6_000] == []
    assert "nonce" in reported[-1]
    assert [entry.nonce for entry in book(on).values() if entry.status in ("approved", "used")] == before


@pytest.mark.thorough
def test_the_gateway_finds_no_fault_with_the_plugin(on) -> None:
    stage: Stage = on
    done = openclaw(stage.gateway.runtime, stage.home, "plugins", "inspect", "toolguard", "--runtime", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert found["plugin"]["status"] == "loaded"
    assert not found["plugin"].get("error")
    assert [entry for entry in found.get("diagnostics", []) if entry.get("level") == "error"] == []
    assert [line for line in stage.gateway.log_text().splitlines() if TOOL in line and "error" in line.lower()] == []
