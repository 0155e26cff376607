"""The commands that decide refuse to run inside an agent's tool call, and say so in the audit log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from held_stage import hold

from toolguard_cli.paths import Places
from toolguard_engine.stores import engines
from toolguard_engine.stores.audit import AuditLog
from toolguard_engine.stores.nonces import FileNonces

COMMANDS = [
    ["approve", "NONCE", "--yes"],
    ["approve", "NONCE", "--yes", "--json"],
    ["deny", "NONCE"],
    ["grant", "git push", "--tool", "exec"],
    ["revoke", "g-0000"],
    ["watch"],
    ["dashboard"],
    ["dashboard", "--json"],
    ["checkpoint"],
    ["checkpoint", "--dry-run"],
    ["kill-switch", "on"],
    ["kill-switch", "off"],
    ["doctor", "--fix"],
    ["uninstall"],
]


def run(places: Places, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "toolguard_cli", *words, "--state-dir", str(places.state_dir)]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_marked_by_the_gateway(places: Places, words: list[str]) -> None:
    entry = hold(places)
    name = " ".join(words) if words[0] in ("doctor", "kill-switch") else words[0]
    done = run(places, *(entry.nonce if word == "NONCE" else word for word in words), OPENCLAW_SHELL="exec")
    assert done.returncode == 1
    assert f"`toolguard {name}` was started by an agent's exec; only a person may do that" in done.stdout + done.stderr
    assert [known.status for known in FileNonces(places.state_dir).entries()] == ["pending"]
    last = list(AuditLog(places.state_dir).events())[-1]
    assert (last["event"], last["code"]) == ("security", "security.self-approval")


@pytest.mark.parametrize(
    "words", [["pending"], ["status"], ["kill-switch", "status"], ["audit", "verify"], ["grants"]], ids=" ".join
)
def test_what_only_shows_may_run_anywhere(places: Places, words: list[str]) -> None:
    hold(places)
    assert run(places, *words, OPENCLAW_SHELL="exec").returncode == 0


def test_a_persons_shell_in_the_gateways_terminal_interface(places: Places) -> None:
    assert run(places, "approve", hold(places).nonce, "--yes", OPENCLAW_SHELL="tui-local").returncode == 0


@pytest.fixture
def below_a_gateway(places: Places) -> Iterator[None]:
    """An engine that was told that this very process is its gateway."""
    hello = {"id": 0, "type": "hello", "v": 1, "stateDir": str(places.state_dir), "gatewayPid": os.getpid()}
    command = [sys.executable, "-m", "toolguard_engine"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as engine:
        assert engine.stdin is not None
        engine.stdin.write(json.dumps(hello).encode() + b"\n")
        engine.stdin.flush()
        limit = time.monotonic() + 120
        while not engines.running(places.state_dir):
            assert time.monotonic() < limit
            time.sleep(0.02)
        yield
        engine.stdin.close()


def test_below_the_gateway(places: Places, below_a_gateway: None) -> None:
    entry = hold(places)
    done = run(places, "approve", entry.nonce, "--yes")
    assert (done.returncode, "was started by the gateway" in done.stdout + done.stderr) == (1, True)
    through_a_shell = f"exec {sys.executable} -m toolguard_cli approve {entry.nonce} --yes --state-dir {places.state_dir}"
    done = subprocess.run(["sh", "-c", f"true; {through_a_shell}"], capture_output=True, text=True, check=False)  # noqa: S607
    assert (done.returncode, "was started by the gateway" in done.stdout + done.stderr) == (1, True)
    assert [known.status for known in FileNonces(places.state_dir).entries()] == ["pending"]
