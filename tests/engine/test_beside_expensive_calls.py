"""Calls that are expensive to judge, again and again through the pipe of a real engine: the others get their answers."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_talk import PATIENCE, PATIENT, ProcessTalk, talks
from hostile_texts import SEQUENCES

SESSIONS = 4
ROUNDS = 3
SYNCHRONOUS: list[dict[str, Any]] = [
    {"type": "message", "calls": [{"tool": "exec", "params": {"command": "ls"}}]},
    {"type": "came", "tool": "exec", "params": {"command": "ls"}, "text": "a", "size": 1},
    {"type": "failed", "tool": "exec", "params": {"command": "ls"}, "text": "no such file"},
    {"type": "ping"},
]
"""Questions for whose answers the gateway stands still."""

SPINNING = f"""
{PATIENT}
import os, threading
from toolguard_engine.layers import layer_order
from toolguard_engine.model import work_timer

work_timer.SECONDS = 0.05
before = layer_order.LAYERS

class Spins:
    def judge(self, given, found):
        while "spin" in str(given.call.params):
            pass

layer_order.LAYERS = (*before[:4], Spins(), *before[4:])
late = threading.Timer({PATIENCE}, os._exit, [1])
late.daemon = True
late.start()
sys.exit(__main__.main())
"""
"""An engine with a loop that counts no steps and never ends, for calls that say so. If nothing stops it, the test fails."""

PROGRAMS = {"node -e": "node -e {}", "awk": "awk {}", "exec": "{}"}
EXPENSIVE = [
    text if kind == "exec" else PROGRAMS[kind].format(shlex.quote(text))
    for [(kind, text), *_] in SEQUENCES
    if kind in PROGRAMS
]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], ProcessTalk]]:
    programs: list[str] = []
    with talks(lambda: ProcessTalk(tmp_path / "home", [sys.executable, "-W", "error", "-c", programs[-1]])) as made:

        def begin(program: str) -> ProcessTalk:
            programs.append(program)
            return made()

        yield begin


def answers(talk: ProcessTalk, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All are asked at once. The answers in the order of the questions; each comes once."""
    for number, question in enumerate(questions):
        talk.send(**{"id": number, **question})
    found: dict[int, dict[str, Any]] = {}
    while len(found) < len(questions):
        answer = talk.read()
        if "id" in answer:
            assert answer["id"] not in found
            found[answer["id"]] = answer
    return [found[number] for number in range(len(questions))]


def judge(command: str, session: str) -> dict[str, Any]:
    place = {"agent": "main", "session": session, "run": session, "cwd": "/srv/work"}
    return {"type": "judge", "tool": "exec", "params": {"command": command}, **place}


def beside(talk: ProcessTalk, expensive: str) -> list[dict[str, Any]]:
    """The answers about the expensive calls, which come from one session. All others are as without them."""
    others = [judge(f"git log -n {number}", f"s{number}") for number in range(SESSIONS)]
    asked = [judge(expensive, "expensive"), *others, *SYNCHRONOUS] * ROUNDS
    found = answers(talk, asked)
    size = 1 + SESSIONS + len(SYNCHRONOUS)
    for at, (question, answer) in enumerate(zip(asked, found, strict=True)):
        if 0 < at % size <= SESSIONS:
            assert (answer["type"], answer["decision"]) == ("verdict", "allow"), question
        elif at % size:
            assert answer["type"] in ("stopped", "noted", "corrected", "pong"), question
    return found[::size]


def test_a_loop_that_never_ends_is_stopped_and_nobody_else_notices(
    start: Callable[[str], ProcessTalk], tmp_path: Path
) -> None:
    talk = start(SPINNING)
    talk.hello(tmp_path / "state")
    held = beside(talk, "echo spin")
    assert [(each["decision"], each["code"]) for each in held] == [("hold", "approval.pending")] * ROUNDS
    assert "complex" in held[0]["text"]
    code, _, complaints = talk.end()
    assert (code, complaints) == (0, "")


def test_what_a_search_began_with_leaves_the_others_their_answers(
    start: Callable[[str], ProcessTalk], tmp_path: Path
) -> None:
    talk = start(f"{PATIENT}sys.exit(__main__.main())")
    talk.hello(tmp_path / "state")
    for command in EXPENSIVE:
        assert {each["type"] for each in beside(talk, command)} == {"verdict"}
    code, _, complaints = talk.end()
    assert (code, complaints) == (0, "")
