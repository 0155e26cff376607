"""What the tests of check, replay and tune share: a small book of rules of their own, an audit log, transcripts."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from toolguard_cli.system.paths import Places
from toolguard_engine.rules.rulebook import Rule, Rulebook
from toolguard_engine.stores.files.audit_log_file import AuditEvent, AuditLog, when

BOOK = Rulebook(
    (
        Rule("demo.deploy", "It publishes the site.", run=("deploy",), clarity=2, stakes=3),
        Rule(
            "demo.grave",
            "It publishes what cannot be taken back.",
            run=("deploy",),
            any=("prod*", "/*"),
            clarity=3,
            stakes=5,
        ),
        Rule("demo.wipe", "It wipes the disk.", run=("wipe",), verdict="block"),
        Rule("demo.notice", "It says something.", run=("say",), clarity=1, stakes=1),
        Rule("lore.secrets", "It reads a secret.", tool=("read",), params=(("path", "secret"),), clarity=6, stakes=6),
    )
)


def policy(places: Places, text: str) -> Path:
    path = places.own / "policy.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def settings(places: Places, **config: Any) -> None:
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": {"enabled": True, "config": config}}}}))


def exec_(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": "call_1", "name": "exec", "arguments": {"command": command, **more}}


def answer(*parts: dict[str, Any]) -> dict[str, Any]:
    """An assistant's message as OpenClaw keeps it."""
    said = {"role": "assistant", "content": [{"type": "text", "text": "well"}, *parts], "stopReason": "toolUse"}
    return {"type": "message", "id": "m1", "parentId": "m0", "timestamp": "2026-11-22T08:55:40.690Z", "message": said}


def transcript(places: Places, *events: dict[str, Any] | str, name: str = "s1", agent: str = "main") -> Path:
    folder = places.state_dir / "agents" / agent / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    head = {"type": "session", "version": 3, "id": name, "cwd": "/srv/work"}
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in (head, *events)))
    return path


class Story:
    """Lines of an audit log, one after another."""

    def __init__(self, places: Places, ago: float = 3_600) -> None:
        self._log = AuditLog(places.state_dir)
        self._now = time.time() - ago
        self._count = 0

    def asked(self, command: str, rule: str = "rule.demo.deploy", *, then: str = "", after: float = 10, **more: Any) -> None:
        """One held call, and what became of it: `approve`, `deny`, `expire`, `native` or nothing."""
        self._count += 1
        self._now += 60
        nonce = f"{self._count:08x}"
        shown = more.pop("shown", f"exec({{ command: {json.dumps(command)} }})")
        usual = {"nonce": nonce, "tool": "exec", "agent": "main", "code": rule, "shown": shown, **more}
        events = {"": (), "native": ("consume",), "approve": ("approve", "consume")}.get(then, (then,))
        lines = [(0.0, "hold"), *((after, event) for event in events)]
        self._log.append(
            AuditEvent(id=f"{nonce}-{event}", time=when(self._now + delay), event=event, **usual) for delay, event in lines
        )
