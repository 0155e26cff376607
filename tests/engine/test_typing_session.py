"""Typing in a session with a store: processes, approvals of assembled lines, and repeated writes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engine_talk import answered
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints
from toolguard_engine.server.held_call_decisions import Approvals
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.stores import open as stores
from toolguard_engine.wire import messages

NOW = 1_000_000.0
BOOK = packs.load()
HELD = "approval.pending"


class Scene:
    """A session with a shell in a terminal, and an approver."""

    def __init__(self, state: Path, config: dict[str, Any] | None = None) -> None:
        self.store = stores.held_calls(state)
        self.request = 0
        clock = lambda: datetime.fromtimestamp(NOW, UTC)  # noqa: E731
        open_approvals = lambda *_: Approvals(self.store, stores.grants(state), lambda: NOW)  # noqa: E731
        self.session = Session(Setup(tool_hints.load(), clock, 42, BOOK, "/home/u", open_approvals=open_approvals))
        answered(self.session, messages.Hello(0, 1, str(state), config))
        answered(
            self.session,
            messages.ToolResult(tool="exec", params={"command": "bash", "pty": True}, process="p", **self.place("c0")),
        )

    def place(self, call: str) -> dict[str, Any]:
        return {"agent": "main", "session": "s", "run": "r", "call": call, "request": self.request}

    def ask(self, call: str, **params: Any) -> messages.VerdictAnswer:
        self.request += 1
        answer = answered(self.session, messages.Judge(1, "process", {"sessionId": "p", **params}, **self.place(call)))
        assert isinstance(answer, messages.VerdictAnswer)
        return answer

    def came(self, call: str, **params: Any) -> messages.Wire | None:
        params = {"sessionId": "p", **params}
        text = {"text": "Wrote.", "size": 6, "status": "running"}
        return answered(self.session, messages.ToolResult(tool="process", params=params, id=2, **text, **self.place(call)))

    def type(self, *texts: str) -> list[str]:
        """The verdict codes of these writes; each allowed one runs."""
        found = []
        for number, text in enumerate(texts):
            answer = self.ask(f"c{self.request}-{number}", action="write", data=text)
            found.append(answer.code)
            if answer.decision == "allow":
                self.came(f"c{self.request - 1}-{number}", action="write", data=text)
        return found

    def approve(self) -> str:
        (entry,) = [entry for entry in self.store.entries() if entry.status == "pending"]
        self.store.approve(entry.nonce, Decision("me", "cli"), NOW, 30)
        return entry.shown


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_an_assembled_line_is_held_with_its_whole_text(scene: Scene) -> None:
    assert scene.type("rm -r", "f ~/impo", "rtant\n") == ["allow", "allow", HELD]
    assert "rm -rf ~/important" in scene.approve()


def test_an_approval_applies_only_to_the_same_line(scene: Scene) -> None:
    scene.type("rm -rf ~/impo", "rtant\n")
    scene.approve()
    assert scene.type("\x03", "rm -rf ~/all_im", "rtant\n") == ["allow", "allow", HELD]
    assert scene.type("\x03", "rm -rf ~/impo", "rtant\n") == ["allow", "allow", "approval.consumed"]
    assert scene.type("rm -rf ~/impo", "rtant\n") == ["allow", HELD]


def test_enter_alone_is_a_different_call_after_a_different_line(scene: Scene) -> None:
    """Although its text is the same each time: it is not a loop, and not approved for all lines."""
    for name in "abcd":
        assert scene.type(f"rm -rf ~/{name}", "\n", "\x03") == ["allow", HELD, "allow"]
    assert scene.type(*["echo x", "\n"] * 30) == ["allow"] * 60


def test_a_repeated_line_that_is_already_held_is_reported(scene: Scene) -> None:
    scene.type("rm -rf ~/a")
    first, again = (scene.ask(f"e{number}", action="submit") for number in range(2))
    assert (first.code, again.code) == (HELD, HELD)
    assert "already waiting" in again.text


def test_typing_is_not_a_loop(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"loopDetection": {"enabled": True}})
    assert set(scene.type(*"echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n")) == {"allow"}


def test_in_shadow_mode_a_write_that_runs_has_arrived(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"mode": "shadow"})
    assert scene.type("rm -rf ~/im", "portant\n") == ["allow", "shadow.rule.filesystem.delete-recursive"]
    assert scene.type("ls\n") == ["allow"]


@pytest.mark.parametrize("data", ["\ud800", "\x00" * 50, "é" * 5_000, "\x1b" * 500, None, 3, ["x"], {"a": 1}])
def test_hostile_texts_are_answered(scene: Scene, data: Any) -> None:
    for params in (
        {"action": "write", "data": data},
        {"action": "send-keys", "keys": data, "hex": data, "literal": data},
        {"action": "paste", "text": data},
        {"action": "write", "sessionId": data, "data": "x"},
        {"action": "submit"},
    ):
        assert scene.ask("h", **params).code != "guard.error"
        scene.came("h", **params)
    assert scene.type("\x03", "\x03", "ls\n")[-1] == "allow"
