"""An agent that types into a program in a terminal."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from toolguard_engine.config.settings import parse
from toolguard_engine.effects.terminal_input.running_programs import ENTERS
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host, Verdict
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints

HOST = Host(home="/home/u", state_dir="/home/u/.openclaw", config_path="/home/u/.openclaw/openclaw.json")
WORKSPACE = "/home/u/.openclaw/workspace"
BOOK = packs.load()
HINTS = tool_hints.load()
PROCESS = "amber-harbor"


def guard(**settings: Any) -> Guard:
    return Guard(parse(settings), HINTS, HOST, BOOK)


def at_once(command: str, **params: Any) -> Verdict:
    """The verdict on the same text as one command."""
    return guard().judge(Call("exec", {"command": command, **params}, cwd=WORKSPACE))


@dataclass
class Typist:
    """One process that was started with `command`. Results of writes are reported as the gateway does."""

    command: str
    owner: Guard = field(default_factory=guard)
    pty: bool = True
    params: dict[str, Any] = field(default_factory=dict)
    seen: bool = True

    def __post_init__(self) -> None:
        self._count = itertools.count(1)
        if self.seen:
            started = Call(
                "exec", {"command": self.command, "pty": self.pty, "background": True, **self.params}, cwd=WORKSPACE
            )
            self.owner.processes.started(PROCESS, started)

    def call(self, params: dict[str, Any], request: int = 0) -> Call:
        number = next(self._count)
        return Call(
            "process", {"sessionId": PROCESS, **params}, agent="main", session="s", run="r", call_id=f"c{number}",
            request=request or number, cwd=WORKSPACE,
        )  # fmt: skip

    def ask(self, call: Call) -> Verdict:
        """The verdict; an allowed call is then unconfirmed."""
        joined = self.owner.processes.joined(call)
        verdict = self.owner.judge(joined)
        if verdict.decision == "allow":
            self.owner.processes.sent(joined, keep=True)
        return verdict

    def do(self, params: dict[str, Any], *, refused: bool = False) -> Verdict:
        call = self.call(params)
        verdict = self.ask(call)
        if verdict.decision == "allow":
            self.owner.processes.completed(call, failed=refused, refused=refused)
        return verdict

    def type(self, *texts: str) -> list[str]:
        """The decisions on these writes."""
        return [self.do({"action": "write", "data": text}).decision for text in texts]

    def last(self, *texts: str) -> Verdict:
        """The verdict on the last of these writes; the ones before it must be allowed."""
        *before, entering = texts
        assert self.type(*before) == ["allow"] * len(before)
        return self.do({"action": "write", "data": entering})

    def shown(self, params: dict[str, Any]) -> str:
        """What the approver sees for this write."""
        return str(self.owner.processes.joined(self.call(params)).params.get(ENTERS, ""))
