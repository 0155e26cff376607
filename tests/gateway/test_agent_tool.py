"""`toolguard_approve`, the tool with which an agent passes a yes on: not there unless the settings allow it."""

from __future__ import annotations

import json

import pytest

from gateway_stage import NEW_HOST, Stage, audit, nonces, once
from shared_gateway import Shared
from toolguard_cli.rig import model
from toolguard_cli.rig.gateway import openclaw
from toolguard_engine.ledger import Entry

TOOL = "toolguard_approve"
ESCALATE = "TOOLGUARD_ESCALATE|"

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="this release has no Tool Search")


@pytest.fixture
def off(shared: Shared) -> Stage:
    return shared.under(alwaysBlock=["write"], approval={"agentTool": False, "wake": False})


@pytest.fixture
def on(shared: Shared) -> Stage:
    return shared.under(alwaysBlock=["write"], approval={"agentTool": True, "wake": False})


def writing(name: str) -> model.Reply:
    return model.call("write", {"path": name, "content": "written\n"})


def directly(nonce: str) -> model.Reply:
    return model.call(TOOL, {"nonce": nonce, "reason": "the user said yes"})


def searched(nonce: str, tool: str = TOOL) -> model.Reply:
    return model.call("tool_call", {"id": tool, "args": {"nonce": nonce, "reason": "the user said yes"}})


def book(stage: Stage) -> dict[str, Entry]:
    return {entry.nonce: entry for entry in nonces(stage.home).entries()}


def held(stage: Stage, name: str) -> Entry:
    stage.play(once(writing(name)), f"agent:main:{name}")
    (entry,) = [e for e in book(stage).values() if e.session == f"agent:main:{name}" and e.status == "pending"]
    return entry


def whole_nonce(request: model.Request) -> str:
    """As a model would find it: in the newest result."""
    return request.last_result.split("|")[1]


@pytest.mark.parametrize(
    "spelled",
    [
        directly,
        searched,
        lambda nonce: searched(nonce, f"openclaw:core:{TOOL}"),
        lambda nonce: searched(nonce, f"toolguard:{TOOL}"),
    ],
    ids=["directly", "searched", "as a core tool", "as our tool"],
)
def test_it_is_off_by_default(off, spelled) -> None:
    name = f"off-{len(off.server.requests)}-{off.count}.txt"
    entry = held(off, name)
    played = off.play(once(spelled(entry.nonce), writing(name)), entry.session, "I approve it")
    assert book(off)[entry.nonce] == entry
    assert played.results[-1].startswith(ESCALATE)
    assert "approved" not in played.results[-2].lower()
    assert not (off.home.workspace_dir / name).exists()
    assert "approve" not in [line["event"] for line in audit(off.home)]


def test_a_model_does_not_even_find_it_while_it_is_off(off) -> None:
    played = off.play(once(model.call("tool_search", {"query": "toolguard approve held call nonce"})))
    assert TOOL not in played.results[-1]


def test_it_lets_the_held_call_run_where_it_is_on(on) -> None:
    """In one run: held, approved by the agent itself, repeated."""

    def script(request: model.Request) -> model.Reply:
        if not request.tools or request.index > 2:
            return model.Reply("Written.")
        return [lambda: writing("on.txt"), lambda: searched(whole_nonce(request)), lambda: writing("on.txt")][
            request.index
        ]()

    played = on.play(script, "agent:main:on")
    assert played.results[0].startswith(ESCALATE)
    assert "approved " in played.results[1]
    assert "Successfully wrote" in played.results[2]
    assert (on.home.workspace_dir / "on.txt").read_text() == "written\n"
    lines = [line for line in audit(on.home) if line.get("session") == "agent:main:on"]
    assert [line["event"] for line in lines] == ["hold", "approve", "consume"]
    assert {name: lines[1][name] for name in ("where", "by", "why")} == {
        "where": "tool",
        "by": "agent",
        "why": "the user said yes",
    }


def test_it_works_once(on) -> None:
    entry = held(on, "again.txt")
    played = on.play(
        once(searched(entry.nonce), writing("again.txt"), searched(entry.nonce), writing("again.txt")), entry.session
    )
    assert "was used at" in played.results[-2]
    assert played.results[-1].startswith(ESCALATE)
    assert entry.nonce not in played.results[-1]


@pytest.mark.parametrize("nonce", ["", "abc", "0123face", "*", "../key", "\x1b[2J", "a" * 5_000], ids=repr)
def test_a_nonce_that_is_none_approves_nothing(on, nonce: str) -> None:
    before = [entry.nonce for entry in book(on).values() if entry.status in ("approved", "used")]
    played = on.play(once(searched(nonce)))
    assert "approved " not in played.results[-1]
    assert len(played.results[-1]) < 6_000
    assert [entry.nonce for entry in book(on).values() if entry.status in ("approved", "used")] == before


def test_without_a_nonce_it_is_a_malformed_call(on) -> None:
    played = on.play(once(model.call("tool_call", {"id": TOOL, "args": {}})))
    assert "approved " not in played.results[-1]
    assert "nonce" in played.results[-1]


@pytest.mark.parametrize("setting", ["off", "on"])
def test_the_gateway_finds_no_fault_with_the_plugin(request: pytest.FixtureRequest, setting: str) -> None:
    stage: Stage = request.getfixturevalue(setting)
    done = openclaw(stage.gateway.runtime, stage.home, "plugins", "inspect", "toolguard", "--runtime", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert found["plugin"]["status"] == "loaded"
    assert not found["plugin"].get("error")
    assert [entry for entry in found.get("diagnostics", []) if entry.get("level") == "error"] == []
    assert [line for line in stage.gateway.log_text().splitlines() if TOOL in line and "error" in line.lower()] == []
