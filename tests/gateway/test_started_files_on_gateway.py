"""What the gateway starts by itself is what the guard's list says, and no agent puts anything there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gateway_stage import RELEASE, Stage, audit, once
from standings_seen import batch
from toolguard_cli.rig import downloads, scripted_model, started_files, started_trace
from toolguard_engine.host import started_catalogue

MARK = "started-by-itself"


def write(path: Path, content: str) -> scripted_model.Reply:
    return scripted_model.call("write", {"path": str(path), "content": content})


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_trace_shows_nothing_that_is_not_in_the_list(real: downloads.Runtime) -> None:
    found = started_files.started(*started_trace.traced(real))
    listed = started_catalogue.load()
    assert started_files.missing(found, listed) == []
    assert len(found) > len(listed.get(RELEASE)) // 2


def test_no_agent_puts_a_program_or_a_module_there(stage: Stage) -> None:
    """The next command would start it."""
    state, home = stage.home.state_dir, stage.home.root
    script = f"#!/bin/sh\ntouch {home / MARK}\n"
    places = [
        state / "tmp" / "agent-cli" / "date",
        state / "cache" / "control-ui-assets" / "a" / "index.js",
        state / "hooks" / "greet" / "handler.js",
        home / ".node_modules" / "x" / "index.js",
        stage.home.workspace_dir / "hooks" / "greet" / "handler.js",
    ]
    there = [path.exists() for path in places]
    played = stage.play(once(batch(*(write(path, script) for path in places[:3]))))
    others = stage.play(
        once(batch(*(write(path, script) for path in places[3:])), scripted_model.call("exec", {"command": "date"}))
    )
    results = [*played.results, *others.results]
    stopped = [text.startswith(("TOOLGUARD_ESCALATE|", "TOOLGUARD_BLOCK|")) for text in results]
    assert stopped == [True] * len(places) + [False]
    assert [path.exists() for path in places] == there
    assert not (home / MARK).exists()
    sessions = {played.session, others.session}
    held = [event for event in audit(stage.home) if event.get("session") in sessions and event.get("event") == "hold"]
    assert [event["code"] for event in held] == ["rule.openclaw.write-gateway"] * len(places)


def test_files_beside_them_are_free(stage: Stage) -> None:
    folder = stage.home.workspace_dir
    steps = (write(folder / "hooks" / "useUser.js", "x"), write(folder / "skills" / "mail" / "SKILL.md", "x"))
    played = stage.play(once(batch(*steps)))
    assert [text for text in played.results if "Successfully wrote" not in text] == []
