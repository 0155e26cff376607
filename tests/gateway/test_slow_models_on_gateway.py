"""An approval reaches its call on the real gateway, however long the model thinks, and who cannot be woken gets it later."""

from __future__ import annotations

import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from gateway_stage import NEW_HOST, Stage, audit, configure, nonces, once, put_in, toolguard, waiting
from operator_client import Operator
from shared_gateway import Shared
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import local_turn
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.stores import audit_log

WINDOW = 10
"""Seconds; the least that the settings allow. A model that needs longer is to this as 40 or 200 s are to the default."""

LONGER = WINDOW + 3
SETTINGS = {"alwaysBlock": ["exec"], "approvalWindowMs": WINDOW * 1_000, "pendingTimeoutMs": 600_000}
LIMIT = 120
Wait = Callable[[Callable[[], bool]], None]


@pytest.fixture
def stage(shared: Shared) -> Stage:
    return shared.under(**SETTINGS)


def command(name: str) -> scripted_model.Reply:
    return scripted_model.call("exec", {"command": f"echo ran >> {name}.txt"})


def runs_of(stage: Stage, name: str) -> int:
    """How often the command has run."""
    path = stage.home.workspace_dir / f"{name}.txt"
    return len(path.read_text().split()) if path.exists() else 0


def hold(stage: Stage, name: str) -> HeldCall:
    stage.play(once(command(name)), f"agent:main:{name}")
    (entry,) = [each for each in waiting(stage.home) if each.session == f"agent:main:{name}"]
    return entry


def now(stage: Stage, nonce: str) -> HeldCall:
    (entry,) = [each for each in nonces(stage.home).entries() if each.nonce == nonce]
    return entry


def events(stage: Stage, nonce: str) -> list[str]:
    """The audit log's. It is written behind the decision."""
    return [line["event"] for line in audit(stage.home) if line.get("nonce") == nonce and line["event"] != "kept"]


def slow(seconds: float, name: str, over: threading.Event | None = None) -> scripted_model.Script:
    """Thinks for so long, or until it is `over`, before it makes the call."""
    thinking = over or threading.Event()

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if not request.tools or request.index > 0:
            return scripted_model.Reply("Done.")
        thinking.wait(seconds)
        return command(name)

    return script


def woken(nonce: str, reply: scripted_model.Reply) -> scripted_model.Script:
    """Answers the agent that is woken for this nonce, once; a gateway that starts may ask for other agents first."""
    answered = threading.Event()

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if answered.is_set() or not request.tools or nonce not in str(request.messages):
            return scripted_model.Reply("Done.")
        answered.set()
        return reply

    return script


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(5, id="within the window", marks=pytest.mark.thorough),
        pytest.param(LONGER, id="longer than the window", marks=pytest.mark.thorough),
        pytest.param(40, marks=pytest.mark.thorough),
        pytest.param(200, marks=pytest.mark.thorough),
    ],
)
def test_an_approved_call_runs_once_however_long_the_model_thinks(stage: Stage, wait: Wait, seconds: float) -> None:
    name = f"slow{seconds}"
    nonce = hold(stage, name).nonce
    stage.server.play(slow(seconds, name))
    said = toolguard(stage.home, "approve", nonce, "--yes").stdout
    assert "the agent is resumed" in said
    wait(lambda: now(stage, nonce).status != "approved" and len(events(stage, nonce)) > 2)
    assert events(stage, nonce) == ["hold", "approve", "consume"]
    wait(lambda: runs_of(stage, name) == 1)
    assert [each for each in nonces(stage.home).entries() if each.session == f"agent:main:{name}"] == [now(stage, nonce)]


@pytest.mark.thorough
def test_a_yes_that_nobody_uses_is_seen_to_lapse(stage: Stage, wait: Wait) -> None:
    """The woken agent does something else; the lapse is in the log, in `status` and in `pending --missed`."""
    nonce = hold(stage, "lapsed").nonce
    stage.server.play(lambda _: scripted_model.Reply("I would rather not."))
    assert "the agent is resumed" in toolguard(stage.home, "approve", nonce, "--yes").stdout
    wait(lambda: now(stage, nonce).status != "approved" and len(events(stage, nonce)) > 2)
    assert events(stage, nonce) == ["hold", "approve", "lapsed"]
    assert f"1 approval lapsed unused in the last 24 hours; the latest is {nonce}" in toolguard(stage.home, "status").stdout
    missed = toolguard(stage.home, "pending", "--missed").stdout
    assert f"toolguard revive {nonce} asks the agent to make the call again" in missed
    stage.server.play(once(command("lapsed")))
    assert toolguard(stage.home, "revive", nonce).returncode == 0
    wait(lambda: any(each.session == "agent:main:lapsed" for each in waiting(stage.home)))
    assert runs_of(stage, "lapsed") == 0


@pytest.mark.thorough
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_gateway_starts_again_between_the_yes_and_the_call(shared: Shared, wait: Wait, how: signal.Signals) -> None:
    """The run that was in progress is lost with it; the agent is woken again, and the call runs once."""
    stage = shared.under(**{**SETTINGS, "approvalWindowMs": 120_000})
    name = f"again{int(how)}"
    nonce = hold(stage, name).nonce
    over = threading.Event()
    stage.server.play(slow(LIMIT, name, over))
    assert "the agent is resumed" in toolguard(stage.home, "approve", nonce, "--yes").stdout
    wait(lambda: bool(stage.server.requests))
    stage.gateway.stop(how)
    over.set()
    stage.server.play(woken(nonce, command(name)))
    stage.gateway.start()
    wait(lambda: now(stage, nonce).status != "approved" and len(events(stage, nonce)) > 2)
    assert events(stage, nonce) == ["hold", "approve", "consume"]
    wait(lambda: runs_of(stage, name) == 1)


# --- who cannot be woken ------------------------------------------------------------------------------------------------


class Automation:
    """An automation that runs when it is told to, each time in a new session."""

    def __init__(self, stage: Stage, owner: Operator) -> None:
        self._stage, self._owner = stage, owner
        self._marker = f"({secrets.token_hex(8)})"
        job = {
            "name": "nightly",
            "schedule": {"kind": "at", "at": audit_log.when(time.time() + 86_400)},
            "sessionTarget": "isolated",
            "wakeMode": "now",
            "payload": {"kind": "agentTurn", "message": f"go {self._marker}"},
            "delivery": {"mode": "none"},
        }
        self._id = owner.call("cron.add", job)["id"]

    def run(self, script: scripted_model.Script) -> list[scripted_model.Request]:
        self._stage.server.play(script, self._marker)
        before, until = self._ended(), time.monotonic() + LIMIT
        self._owner.call("cron.run", {"id": self._id, "mode": "force"})
        while self._ended() == before:
            assert time.monotonic() < until, "the automation does not end"
            time.sleep(0.1)
        return list(self._stage.server.requests)

    def _ended(self) -> int:
        return len(self._owner.call("cron.runs", {"id": self._id})["entries"])


@pytest.fixture
def automation(stage: Stage) -> Iterator[Automation]:
    with Operator(stage.home) as owner:
        yield Automation(stage, owner)


@pytest.mark.thorough
@pytest.mark.skipif(not NEW_HOST, reason="automations differ before")
def test_an_approval_for_an_automation_waits_for_its_next_run(stage: Stage, automation: Automation, wait: Wait) -> None:
    automation.run(once(command("cron")))
    (entry,) = [each for each in waiting(stage.home) if ":cron:" in each.session]
    said = toolguard(stage.home, "approve", entry.nonce, "--yes").stdout
    assert "the agent could not be woken (OpenClaw wakes no automation): it is told at its next run" in said
    time.sleep(WINDOW + 1)  # the window would be over
    ls = scripted_model.call("exec", {"command": "ls"})
    requests = automation.run(once(scripted_model.call("read", {"path": "workspace.md"}), command("cron"), ls))
    told = [
        text for text in requests[-1].texts("tool") if f"The user approved the call that waited under {entry.nonce}" in text
    ]
    assert len(told) == 1
    wait(lambda: len(events(stage, entry.nonce)) > 2)
    assert events(stage, entry.nonce) == ["hold", "approve", "consume"]
    wait(lambda: runs_of(stage, "cron") == 1)


@pytest.mark.thorough
def test_an_approval_for_an_embedded_run_waits_for_the_next_one(
    real: downloads.Runtime, server: scripted_model.ScriptedModel
) -> None:
    with Home(server.base_url) as home:
        put_in(home)
        configure(home, **SETTINGS)
        server.play(once(command("embedded")))
        assert local_turn(real, home, "go").ok
        (entry,) = waiting(home)
        said = toolguard(home, "approve", entry.nonce, "--yes").stdout
        assert "no gateway runs here, so the agent is not woken: it is told at its next run" in said
        time.sleep(WINDOW + 1)
        server.play(once(scripted_model.call("read", {"path": "none.md"}), command("embedded")))
        assert local_turn(real, home, "go on").ok
        (entry,) = nonces(home).entries()
        assert entry.status == "used"
        assert (home.workspace_dir / "embedded.txt").read_text() == "ran\n"
