"""Agents whose model is run by the Claude CLI: its own tools reach the guard through the gateway's PreToolUse hook.

The CLI is a stand-in that speaks its protocol and obeys the answers; the gateway, the hook and the guard are real.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway_stage import RELEASE, Stage, toolguard, waiting
from shared_gateway import Shared, with_coder
from toolguard_cli.hostconfig import gateway_files
from toolguard_cli.rig.real_gateway import Turn, openclaw

STANDIN = Path(__file__).parent / "standins" / "claude.py"
RELAYS = tuple(int(part) for part in RELEASE.split(".")) >= (2026, 9, 3)

pytestmark = pytest.mark.skipif(not RELAYS, reason="this release asks no PreToolUse hook over the CLI's pipes")


@pytest.fixture
def stage(shared: Shared) -> Stage:
    shared.home.programs.mkdir(exist_ok=True)
    program = shared.home.programs / "claude"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {STANDIN} "$@"\n')
    program.chmod(0o755)
    return with_coder(shared)


def ask(stage: Stage, tool: str, session: str = "", **given: Any) -> Turn:
    """One message, in a session of its own unless one is named; the CLI makes this call."""
    stage.count += 1
    message = f"CALL {json.dumps({'tool': tool, 'input': given})}"
    return stage.gateway.turn(message, session or f"agent:coder:{stage.count}", agent="coder")


def run(stage: Stage, command: str, session: str = "") -> Turn:
    return ask(stage, "Bash", session, command=command)


@pytest.mark.thorough
def test_an_ordinary_command_runs_as_it_was_asked_for(stage: Stage) -> None:
    assert run(stage, "touch ~/made && ls ~/made").answer == f"RAN {stage.home.root}/made"
    assert (stage.home.root / "made").exists()


def test_a_risky_command_waits_for_a_person_and_runs_once_after_a_yes(stage: Stage) -> None:
    important = stage.home.root / "important"
    important.mkdir(exist_ok=True)  # by another test of this gateway
    held = run(stage, "rm -rf ~/important")
    assert held.answer.startswith("DENIED TOOLGUARD_ESCALATE|")
    assert important.exists()
    (entry,) = [each for each in waiting(stage.home) if each.tool == "exec"]
    assert entry.agent == "coder"
    assert toolguard(stage.home, "approve", entry.nonce, "--yes").returncode == 0
    assert run(stage, "rm -rf ~/important", entry.session).answer.startswith("RAN")
    assert not important.exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "{state}/toolguard/key"}),
        ("Write", {"file_path": "{state}/toolguard/policy.toml", "content": "x"}),
        ("Edit", {"file_path": "{state}/toolguard/policy.toml", "old_string": "a", "new_string": "b"}),
        ("Bash", {"command": "cat {state}/toolguard/key"}),
    ],
    ids=["Read", "Write", "Edit", "Bash"],
)
def test_the_guards_own_files_are_out_of_reach(stage: Stage, tool: str, given: dict[str, str]) -> None:
    placed = {name: text.replace("{state}", str(stage.home.state_dir)) for name, text in given.items()}
    assert ask(stage, tool, **placed).answer.startswith("DENIED TOOLGUARD_BLOCK|")


@pytest.mark.thorough
def test_a_tool_of_an_mcp_server_is_judged_where_the_cli_asks(stage: Stage) -> None:
    assert ask(stage, "mcp__files__delete_file", path="/etc/passwd").answer.startswith("DENIED TOOLGUARD_ESCALATE|")
    assert ask(stage, "mcp__files__list_files", path="/tmp").answer.startswith("ALLOWED ")


@pytest.mark.thorough
def test_doctor_finds_a_persons_automation_in_the_store_of_the_running_gateway(stage: Stage) -> None:
    home = stage.home
    assert gateway_files.commands(home.state_dir) == []
    added = openclaw(
        stage.gateway.runtime, home, "automations", "add", "--name", "backup", "--every", "1h", "--command", "date"
    )
    assert added.returncode == 0, added.stderr
    found = {each["id"]: each for each in json.loads(toolguard(home, "doctor", "--json").stdout)["data"]["checks"]}
    assert found["entry-points"]["data"]["ways"] == [{"kind": "automations", "names": ["backup"]}]
    assert found["agents"]["data"]["agents"]["coder"]["guards"] == "guarded"
