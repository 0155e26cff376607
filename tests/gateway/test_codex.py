"""Agents whose model is run by Codex: its own tools reach the guard through the hook command of the gateway's relay.

No release of OpenClaw carries the Codex plugin, so this needs one that it was put into (`dist/extensions/codex`):
TOOLGUARD_TEST_CODEX names its `openclaw.mjs`. Codex is a stand-in that speaks the app server's protocol; the gateway, the
plugin, the relay and the guard are real.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway_stage import RELEASE, Stage, configure, put_in, toolguard, waiting
from shared_gateway import QUIET
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home, over
from toolguard_cli.rig.real_gateway import Gateway

OPENCLAW = os.environ.get("TOOLGUARD_TEST_CODEX", "")
STANDIN = Path(__file__).parent / "standins" / "codex.py"
MODEL = "openai/gpt-6-astra"
AGENT = {"model": MODEL, "models": {MODEL: {"agentRuntime": {"id": "codex"}}}}
CONFIG = over(QUIET, {"agents": {"entries": {"main": {"default": True}, "coder": AGENT}}})
TRIES = 5

pytestmark = pytest.mark.skipif(not OPENCLAW, reason="no OpenClaw with the Codex plugin")


class WithKey(Home):
    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "OPENAI_API_KEY": "rehearsal"}


@pytest.fixture(scope="module", params=["approved", "always"])
def stage(request: pytest.FixtureRequest, server: scripted_model.ScriptedModel) -> Iterator[Stage]:
    real = downloads.Runtime(downloads.node(), Path(OPENCLAW), RELEASE)
    with WithKey(server.base_url, extra=CONFIG) as home:
        program = home.root / "codex"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {STANDIN} "$@"\n')
        program.chmod(0o755)
        put_in(home)
        configure(home, pinParams=request.param, approvalWindowMs=120_000, approval={"wake": False})
        config = json.loads(home.config_path.read_text())
        config["plugins"]["entries"]["codex"] = {"enabled": True, "config": {"appServer": {"command": str(program)}}}
        home.config_path.write_text(json.dumps(config))
        with Gateway(real, home, within=300) as gateway:
            yield Stage(gateway, server)


def run(stage: Stage, command: str, session: str = "") -> str:
    """What became of this command. The first turns may come before the app server is up: those did nothing."""
    stage.count += 1
    message = f"CALL {json.dumps({'tool': 'Bash', 'input': {'command': command}})}"
    for _ in range(TRIES):
        turn = stage.gateway.turn(message, session or f"agent:coder:{stage.count}", agent="coder")
        if turn.ok:
            break
    assert turn.ok, stage.gateway.tail()
    return turn.answer


@pytest.mark.thorough
def test_an_ordinary_command_runs(stage: Stage) -> None:
    assert run(stage, "touch ~/made && ls ~/made").startswith("RAN")
    assert (stage.home.root / "made").exists()


@pytest.mark.thorough
def test_the_guards_own_files_are_out_of_reach(stage: Stage) -> None:
    assert run(stage, f"cat {stage.home.state_dir}/toolguard/key").startswith("DENIED TOOLGUARD_BLOCK|")


def test_a_risky_command_waits_for_a_person_and_runs_after_a_yes(stage: Stage) -> None:
    important = stage.home.root / "important"
    important.mkdir()
    assert run(stage, "rm -rf ~/important").startswith("DENIED TOOLGUARD_ESCALATE|")
    assert important.exists()
    (entry,) = [each for each in waiting(stage.home) if each.tool == "exec"]
    assert toolguard(stage.home, "approve", entry.nonce, "--yes").returncode == 0
    assert run(stage, "rm -rf ~/important", entry.session).startswith("RAN")
    assert not important.exists()
