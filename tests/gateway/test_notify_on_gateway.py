"""Notifications from the real gateway: a held call reaches a webhook and one of the gateway's channels."""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway_stage import Stage, nonces, once
from operator_client import Operator
from shared_gateway import Shared
from toolguard_cli.rig import scripted_model
from toolguard_engine.stores import audit_log

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

from notify_stage import Receiver, serving

CALL = scripted_model.call("write", {"path": "notes.txt", "content": "x"})
LIMIT = 60.0
Wait = Callable[[Callable[[], bool]], None]


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with serving(Receiver()) as receiver:
        yield receiver


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """A plugin with a channel that writes its messages to a file."""
    folder = tmp_path / "chatter"
    folder.mkdir()
    (folder / "package.json").write_text('{"type": "module", "openclaw": {"extensions": ["./index.mjs"]}}')
    manifest = {
        "id": "chatter",
        "configSchema": {"type": "object"},
        "activation": {"onStartup": True},
        "channels": ["chatter"],
    }
    (folder / "openclaw.plugin.json").write_text(json.dumps(manifest))
    (folder / "index.mjs").write_text(
        f"""import {{ appendFileSync }} from "node:fs";
const sendText = async ({{ to, text }}) => {{
  appendFileSync({json.dumps(str(folder / "sent"))}, JSON.stringify({{ to, text }}) + "\\n");
  return {{ channel: "chatter", messageId: "1" }};
}};
const plugin = {{
  id: "chatter", meta: {{ id: "chatter", label: "Chatter", selectionLabel: "Chatter", docsPath: "/", blurb: "" }},
  capabilities: {{ chatTypes: ["direct"] }},
  config: {{ listAccountIds: () => ["default"], resolveAccount: () => ({{}}), isConfigured: () => true }},
  outbound: {{ deliveryMode: "direct", sendText }},
}};
export default {{ id: "chatter", name: "chatter", register: (api) => api.registerChannel({{ plugin }}) }};
"""
    )
    return folder


def sent(chat: Path) -> str:
    """What the channel has sent, a line for each message."""
    path = chat / "sent"
    return path.read_text() if path.exists() else ""


def settings(hook: Receiver) -> dict[str, object]:
    targets = {
        "hook": {"webhook": f"http://127.0.0.1:{hook.port}/", "secret": "s"},
        "chat": {"channel": "chatter", "to": "ann", "events": ["held"]},
    }
    return {"alwaysBlock": ["write"], "approval": {"wake": False}, "notify": {"targets": targets}}


def held(stage: Stage, session: str) -> str:
    stage.play(once(CALL), session)
    (entry,) = [each for each in nonces(stage.home).entries() if each.session == session]
    return entry.nonce


def at_night(stage: Stage) -> str:
    """The call of an automation that runs now."""
    marker = f"({secrets.token_hex(8)})"
    stage.server.play(once(CALL), marker)
    job = {
        "name": "nightly",
        "schedule": {"kind": "at", "at": audit_log.when(time.time() + 86_400)},
        "sessionTarget": "isolated",
        "wakeMode": "now",
        "payload": {"kind": "agentTurn", "message": f"go {marker}"},
        "delivery": {"mode": "none"},
    }
    with Operator(stage.home) as owner:
        owner.call("cron.run", {"id": owner.call("cron.add", job)["id"], "mode": "force"})
        until = time.monotonic() + LIMIT
        while not (found := nonces(stage.home).entries()) and time.monotonic() < until:
            time.sleep(0.05)
    (entry,) = found
    assert "cron" in entry.session
    return entry.nonce


def test_a_held_call_of_an_automation_reaches_a_webhook_and_a_channel(
    shared: Shared, hook: Receiver, chat: Path, wait: Wait
) -> None:
    nonce = at_night(shared.under({"chatter": chat}, **settings(hook)))
    wait(lambda: len(hook.received) >= 1 and sent(chat).endswith("\n"))  # a file is there before its content
    assert [(body["event"], body["nonce"]) for body in hook.bodies] == [("held", nonce)]
    assert "notes.txt" in hook.bodies[0]["call"]
    assert hook.received[0][0]["X-Toolguard-Signature"].startswith("t=")
    (message,) = map(json.loads, sent(chat).splitlines())
    assert message["to"] == "ann"
    assert f"toolguard approve {nonce}" in message["text"]


@pytest.mark.thorough
def test_a_changed_target_counts_without_a_restart(shared: Shared, hook: Receiver, chat: Path, wait: Wait) -> None:
    stage = shared.under({"chatter": chat}, **settings(hook))
    gateway = shared.pid
    with serving(Receiver()) as other:
        shared.change(**settings(other))
        nonce = held(stage, "agent:main:later")
        wait(lambda: nonce in [body.get("nonce") for body in other.bodies])
    assert shared.pid == gateway


@pytest.mark.thorough
def test_somebody_learns_that_the_guard_was_switched_off(shared: Shared, hook: Receiver, wait: Wait) -> None:
    shared.under(notify={"targets": {"hook": {"webhook": f"http://127.0.0.1:{hook.port}/", "secret": "s"}}})
    shared.switch_off()
    wait(lambda: "guardEnded" in [body["event"] for body in hook.bodies])
