"""Agents whose model is run by the Claude CLI: its own tools reach the guard through the gateway's PreToolUse hook.

The CLI is a stand-in that speaks its protocol and obeys the answers; the gateway, the hook and the guard are real.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway_stage import RELEASE, Stage, put_in, toolguard, waiting
from shared_gateway import QUIET
from toolguard_cli import gatewaystore
from toolguard_cli.rig import model, runtime
from toolguard_cli.rig.gateway import Gateway, Turn, openclaw
from toolguard_cli.rig.home import Home, over

STANDIN = Path(__file__).parent / "standins" / "claude.py"
MODEL = "anthropic/claude-opus-5"
AGENT = {"model": MODEL, "models": {MODEL: {"agentRuntime": {"id": "claude-cli"}}}}
CONFIG = over(QUIET, {"agents": {"entries": {"main": {"default": True}, "coder": AGENT}}})
RELAYS = tuple(int(part) for part in RELEASE.split(".")) >= (2026, 9, 3)

pytestmark = pytest.mark.skipif(not RELAYS, reason="this release asks no PreToolUse hook over the CLI's pipes")


class WithClaude(Home):
    """`claude` is on the gateway's PATH."""

    @property
    def programs(self) -> Path:
        return self.root / "bin"

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def stage(real: runtime.Runtime, server: model.ScriptedModel) -> Iterator[Stage]:
    with WithClaude(server.base_url, extra=CONFIG) as home:
        home.programs.mkdir()
        program = home.programs / "claude"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {STANDIN} "$@"\n')
        program.chmod(0o755)
        put_in(home)
        with Gateway(real, home) as gateway:
            yield Stage(gateway, server)


def ask(stage: Stage, tool: str, session: str = "", **given: Any) -> Turn:
    """One message, in a session of its own unless one is named; the CLI makes this call."""
    stage.count += 1
    message = f"CALL {json.dumps({'tool': tool, 'input': given})}"
    return stage.gateway.turn(message, session or f"agent:coder:{stage.count}", agent="coder")


def run(stage: Stage, command: str, session: str = "") -> Turn:
    return ask(stage, "Bash", session, command=command)


def test_an_ordinary_command_runs_as_it_was_asked_for(stage: Stage) -> None:
    assert run(stage, "touch ~/made && ls ~/made").answer == f"RAN {stage.home.root}/made"
    assert (stage.home.root / "made").exists()


def test_a_risky_command_waits_for_a_person_and_runs_once_after_a_yes(stage: Stage) -> None:
    important = stage.home.root / "important"
    important.mkdir()
    held = run(stage, "rm -rf ~/important")
    assert held.answer.startswith("DENIED TOOLGUARD_ESCALATE|")
    assert important.exists()
    (entry,) = [each for each in waiting(stage.home) if each.tool == "exec"]
    assert entry.agent == "coder"
    assert toolguard(stage.home, "approve", entry.nonce, "--yes").returncode == 0
    assert run(stage, "rm -rf ~/important", entry.session).answer.startswith("RAN")
    assert not important.exists()


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "{state}/toolguard/key"}),
        ("Write", {"file_path": "{state}/toolguard/policy.toml", "content": "x"}),
        ("Edit", {"file_path": "{state}/toolguard/policy.toml", "old_string": "a", "new_string": "b"}),
        ("Bash", {"command": "cat {state}/toolguard/key"}),
    ],
)
def test_the_guards_own_files_are_out_of_reach(stage: Stage, tool: str, given: dict[str, str]) -> None:
    placed = {name: text.replace("{state}", str(stage.home.state_dir)) for name, text in given.items()}
    assert ask(stage, tool, **placed).answer.startswith("DENIED TOOLGUARD_BLOCK|")


def test_a_tool_of_an_mcp_server_is_judged_where_the_cli_asks(stage: Stage) -> None:
    assert ask(stage, "mcp__files__delete_file", path="/etc/passwd").answer.startswith("DENIED TOOLGUARD_ESCALATE|")
    assert ask(stage, "mcp__files__list_files", path="/tmp").answer.startswith("ALLOWED ")


def test_doctor_finds_a_persons_automation_in_the_store_of_the_running_gateway(stage: Stage) -> None:
    home = stage.home
    assert gatewaystore.commands(home.state_dir) == []
    added = openclaw(
        stage.gateway.runtime, home, "automations", "add", "--name", "backup", "--every", "1h", "--command", "date"
    )
    assert added.returncode == 0, added.stderr
    found = {each["id"]: each for each in json.loads(toolguard(home, "doctor", "--json").stdout)["data"]["checks"]}
    assert found["ways-in"]["data"]["ways"] == [{"kind": "automations", "names": ["backup"]}]
    assert found["agents"]["data"]["agents"]["coder"]["guards"] == "guarded"
