"""The commands that decide refuse to run inside an agent's tool call, and say so in the audit log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from held_stage import hold

from toolguard_cli import inside
from toolguard_cli.commands import watch
from toolguard_cli.paths import Places
from toolguard_cli.person.linux import Linux
from toolguard_cli.watching import Act, View
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
    ["install"],
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


def test_another_state_directory_does_not_hide_the_gateway(places: Places, tmp_path: Path, below_a_gateway: None) -> None:
    """Whose config is changed counts as well."""
    places.config.write_text("{}")
    other = tmp_path / "other"
    other.mkdir()
    words = ("config", "set", "mode", "disabled", "--config", str(places.config))
    done = run(Places(other, places.config), *words)
    assert (done.returncode, "was started by the gateway" in done.stdout + done.stderr) == (1, True)
    assert places.config.read_text() == "{}"


def test_a_number_that_a_gateway_has_left_is_not_the_gateway(places: Places, below_a_gateway: None) -> None:
    """The process that has it now may be a person's shell."""
    (info,) = engines.running(places.state_dir)
    info.gateway_pid = os.getppid()
    engines.publish(places.state_dir, info)
    hold(places)
    agents = inside._agents(places, Linux())
    assert (agents.gateways, agents.engines) == (frozenset({os.getppid()}), frozenset({info.pid}))
    info.gateway_pid = info.pid
    engines.publish(places.state_dir, info)
    assert inside._agents(places, Linux()).gateways == frozenset()


def test_watch_in_doubt_approves_nothing(places: Places) -> None:
    """Where any program can type, a key is no proof. A no is taken."""
    entry = hold(places)
    watched = watch.Watched(places, "in tmux or screen")
    view = watch._done(watched, View(), Act("approve", entry.nonce))
    assert view.message == f"watch was started in tmux or screen; run toolguard approve {entry.nonce}"
    assert [known.status for known in FileNonces(places.state_dir).entries()] == ["pending"]
    watch._done(watched, View(), Act("deny", entry.nonce))
    assert [known.status for known in FileNonces(places.state_dir).entries()] == ["denied"]


def test_below_the_gateway(places: Places, below_a_gateway: None) -> None:
    entry = hold(places)
    done = run(places, "approve", entry.nonce, "--yes")
    assert (done.returncode, "was started by the gateway" in done.stdout + done.stderr) == (1, True)
    through_a_shell = f"exec {sys.executable} -m toolguard_cli approve {entry.nonce} --yes --state-dir {places.state_dir}"
    done = subprocess.run(["sh", "-c", f"true; {through_a_shell}"], capture_output=True, text=True, check=False)  # noqa: S607
    assert (done.returncode, "was started by the gateway" in done.stdout + done.stderr) == (1, True)
    assert [known.status for known in FileNonces(places.state_dir).entries()] == ["pending"]
