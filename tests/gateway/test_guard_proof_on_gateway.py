"""What `doctor`, `status` and `install` report about a real gateway: only what it has really loaded counts as guarded."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from gateway_stage import NEW_HOST, as_shipped, configure, once, put_in, toolguard
from shared_gateway import Shared
from toolguard_cli.operations import guard_proof
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.system.paths import Places
from toolguard_engine import __version__
from toolguard_engine.stores.files import engine_files as engines

SERIOUS = scripted_model.call("exec", {"command": "rm -rf ~/photos"})


def places(home: Home) -> Places:
    return Places(home.state_dir, home.config_path)


def state(home: Home) -> str:
    return guard_proof.look(places(home)).state


def reported(home: Home, command: str) -> tuple[str, str]:
    """The state, and the line for the user."""
    done = toolguard(home, command, "--json")
    answer = json.loads(done.stdout)
    found = answer["data"]
    proof = found["guard"] if "guard" in found else found["checks"][0]["data"]["proof"]
    return proof["state"], next(line for line in [*answer["errors"], *answer["messages"]] if proof["text"] in line)


@pytest.mark.thorough
@pytest.mark.skipif(not NEW_HOST, reason="the reload mode off is new")
def test_a_gateway_that_does_not_reload(real: downloads.Runtime, server: scripted_model.ScriptedModel, wait) -> None:
    """The agent deletes a folder while toolguard is installed and not loaded: nothing may say GUARDED."""
    with Home(server.base_url, extra={"gateway": {"reload": {"mode": "off"}}}) as home, Gateway(real, home) as gateway:
        where = f"127.0.0.1:{home.port}"
        not_loaded = f"a gateway answers on {where} and has not loaded toolguard"
        assert reported(home, "status") == ("not-loaded", f"NOT guarded: {not_loaded}")
        done = toolguard(home, "install")
        assert done.stdout.splitlines()[-2:] == [
            f"error NOT guarded: {not_loaded}",
            "next  openclaw gateway restart, then: toolguard doctor",
        ]
        (home.root / "photos").mkdir()
        server.play(once(SERIOUS))
        gateway.turn("go")
        assert not (home.root / "photos").exists()
        doctor = toolguard(home, "doctor")
        assert doctor.returncode == 1
        assert f"loaded        {not_loaded}\n" in doctor.stdout
        assert "-> openclaw gateway restart\n" in doctor.stdout
        assert doctor.stdout.splitlines()[-1].startswith(f"error NOT guarded: loaded: {not_loaded}")
        with Home(server.base_url, extra={"gateway": {"port": home.port}}) as other:
            assert state(other) == "other-state"
    with Home(server.base_url, extra={"gateway": {"port": home.port}}) as gone:
        put_in(gone)
        assert state(gone) == "installed"
        with socket.create_server(("127.0.0.1", home.port)) as taken:
            taken.listen()
            assert state(gone) == "port-taken"


@contextmanager
def halted(pid: int) -> Iterator[None]:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def all_halted(home: Home, stack: ExitStack) -> bool:
    """Halts the engines until the stack ends; the one of before a reload may still run beside the new one."""
    found = engines.running(home.state_dir)
    for engine in found:
        stack.enter_context(halted(engine.pid))
    return bool(found)


SETTINGS: dict[str, Any] = {
    "budget": {"size": 2, "riskCosts": {"LOW": 1}},
    "agents": {"helper": {"mode": "soft"}},
    "neverBlock": ["session_status"],
    "storePath": "~/.openclaw/toolguard/calls.json",
    "metrics": {"enabled": True, "dbPath": "~/.openclaw/own.db", "retention": {"rawDays": 3}},
    "loopDetection": {"identicalErrors": {"warn": 2}},
    "pendingTimeoutMs": 120_000,
}


@pytest.fixture
def shipped(shared: Shared) -> Iterator[Shared]:
    """Its copy of the plugin is the one that `toolguard install` would install."""
    with as_shipped(shared.home):
        shared.forget()
        yield shared
        shared.forget()


def test_a_gateway_that_has_loaded_it(shipped: Shared, wait, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway fills in defaults and replaces `~`; its settings are still those of its config."""
    shared = shipped
    home, pid = shared.under(**SETTINGS).home, shared.pid
    wait(lambda: state(home) == "guarded")
    named, line = reported(home, "status")
    assert (named, line.partition(": ")[2].partition(" (engine started ")[0]) == (
        "guarded", f"the gateway on 127.0.0.1:{home.port} has loaded toolguard {__version__} with these settings",
    )  # fmt: skip
    assert toolguard(home, "install").stdout.splitlines()[-2].startswith("ok    GUARDED: ")
    with ExitStack() as stack:
        wait(lambda: all_halted(home, stack) and state(home) == "engine-away")
    shared.forget()
    with halted(pid):  # it has not noticed the change yet
        configure(home, pendingTimeoutMs=180_000)
        proof = guard_proof.look(places(home))
        assert (proof.state, proof.text.rpartition(": ")[2]) == ("reloading", "pendingTimeoutMs")
    wait(lambda: state(home) == "guarded")
    with monkeypatch.context() as upgraded:
        upgraded.setattr(guard_proof, "__version__", "9.9.9")
        assert state(home) == "old-version"
    for enabled, expected in ((False, "not-loaded"), (True, "guarded")):
        value = json.loads(home.config_path.read_text())
        value["plugins"]["entries"]["toolguard"]["enabled"] = enabled
        home.config_path.write_text(json.dumps(value))
        wait(lambda: bool(engines.running(home.state_dir)) is enabled and state(home) == expected)  # noqa: B023 - called here
