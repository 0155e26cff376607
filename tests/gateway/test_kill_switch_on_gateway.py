"""The kill switch on the real gateway: it stops what is under way, in every session, and a person frees it again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from gateway_stage import NEW_HOST, Stage, audit, once, toolguard
from operator_client import APPROVER, Operator
from standings_seen import BLOCK, command, read, results, status, writing
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.scripted_model import call

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="seen on this release only")

TOLD = f"{BLOCK}The kill switch is on: test (by "


@pytest.fixture
def stage(stage: Stage) -> Iterator[Stage]:
    yield stage
    switch(stage, "off")


def switch(stage: Stage, *words: str) -> None:
    done = toolguard(stage.home, "kill-switch", *words)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_stops_a_run_that_is_under_way(stage) -> None:
    file = stage.home.workspace_dir / "under-way.txt"

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if request.index == 1:
            switch(stage, "on", "--why", "test")
        return (
            command("echo ran >> under-way.txt")
            if request.tools and request.index < 20
            else scripted_model.Reply("Stopped.")
        )

    played = stage.play(script)
    assert file.read_text() == "ran\n"
    assert len(results(played)) == 2
    assert results(played)[1].startswith(TOLD)
    assert "No tool call by any agent runs until a person switches it off (toolguard kill-switch off)." in results(played)[1]
    assert len(played.requests) <= 4
    assert played.turn.answer == "Stopped."
    lines = [(line["event"], line["code"]) for line in audit(stage.home) if line.get("session") == played.session]
    assert lines == [("block", "kill-switch.on"), ("stop", "kill-switch.on")]


@pytest.mark.thorough
def test_it_is_for_all_until_a_person_frees_them_in_chat(stage) -> None:
    """Other agents, other sessions, what only looks, and tools that are never blocked otherwise."""
    (stage.home.workspace_dir / "here.txt").write_text("Here.\n")
    switch(stage, "on", "--why", "test")
    assert status(stage)["killSwitch"]["on"] is True
    assert "the kill switch is ON" in toolguard(stage.home, "status").stdout
    exempt = call("tool_call", {"id": "memory_get", "args": {"path": "MEMORY.md"}})
    for session, reply in {
        "agent:main:kill-1": read("here.txt"),
        "agent:paid:kill-2": command("ls"),
        "agent:free:kill-3": writing("no.txt"),
        "agent:main:kill-4": exempt,
    }.items():
        assert "The kill switch is on: test" in results(stage.play(once(reply), session))[0]
    assert not (stage.home.workspace_dir / "no.txt").exists()

    stage.server.play(once())
    with Operator(stage.home, APPROVER) as stranger:
        assert "owner of this gateway" in stranger.chat("agent:main:room", "/toolguard kill-switch off")
    assert status(stage)["killSwitch"]["on"] is True
    with Operator(stage.home) as owner:
        reported = owner.chat("agent:main:room", "/toolguard kill-switch off")
        assert reported == "kill switch off: calls are judged as usual again"
    assert status(stage)["killSwitch"] == {"on": False}
    assert results(stage.play(once(read("here.txt")), "agent:main:kill-1"))[0] == "Here.\n"


@pytest.mark.thorough
def test_it_is_switched_on_in_chat_and_stays_on_for_the_next_engine(stage, wait) -> None:
    with Operator(stage.home) as owner:
        reported = owner.chat("agent:main:room", "/toolguard kill-switch on it mails everybody")
        assert reported == "kill switch on: no tool call runs until it is switched off"
    thrown = status(stage)["killSwitch"]
    assert (thrown["why"], thrown["by"]) == ("it mails everybody", "webchat:gateway-client")
    (pid,) = stage.engines()
    os.kill(pid, signal.SIGKILL)
    wait(lambda: pid not in stage.engines())
    reported = results(stage.play(once(read("any.txt"))))[0]
    assert reported.startswith(f"{BLOCK}The kill switch is on: it mails everybody (by webchat:gateway-client)")


@pytest.mark.thorough
def test_no_agent_switches_it(stage) -> None:
    """While it is on nothing runs; while it is off no agent can use it against the others."""
    played = stage.play(once(command("toolguard kill-switch off"), command("toolguard kill-switch on --why revenge")))
    assert [text.partition("|")[0] for text in results(played)] == ["TOOLGUARD_BLOCK"] * 2
    assert status(stage)["killSwitch"] == {"on": False}
    switch(stage, "on", "--why", "test")
    assert results(stage.play(once(command("toolguard kill-switch off"))))[0].startswith(TOLD)
    assert status(stage)["killSwitch"]["on"] is True
