"""Limits on cost and tokens in an engine: who is stopped, by which code, and what the model and the person are given."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine_talk import PATIENCE, Talk
from toolguard_engine.metrics import database
from toolguard_engine.server.metrics_step import STALE_SECONDS
from toolguard_engine.stores.files.audit_log_file import AuditLog

PLACE = {"agent": "main", "session": "agent:main:main", "run": "r"}
PERSON = (
    "The limit of 1,000 tokens a day is reached: 1,000 tokens used. Agents are stopped until midnight UTC. "
    "`toolguard limits` shows the current usage. To raise the limit, run: toolguard limits set day --tokens=2000"
)
DAY = {"per": "day", "tokens": 1_000}


class Limited:
    """An engine with limits, and a metrics file of its own."""

    def __init__(self, talk: Talk, state: Path, *limits: dict[str, Any], db: Path | None = None, **config: Any) -> None:
        self.talk, self.state, self.db, self.asked = talk, state, db or state.parent / "m.db", 0
        hello = talk.hello(state, {"limits": list(limits), "metrics": {"dbPath": str(self.db)}, **config})
        assert hello["configError"] == ""

    def uses(self, tokens: int, **place: Any) -> None:
        usage = {"input": tokens, "totalTokens": tokens}
        self.talk.send(type="answered", provider="p", model="m", usage=usage, **PLACE | place)
        self.talk.send(type="model-ended", provider="p", model="m", outcome="completed", **PLACE | place)

    def judge(self, **place: Any) -> Any:
        self.asked += 1
        call = {"tool": "read", "params": {"path": "a"}}
        return self.talk.answer([], id=self.asked, type="judge", **call | PLACE | place)

    def begins(self, **place: Any) -> str:
        self.asked += 1
        return str(self.talk.answer([], id=self.asked, type="message", calls=[], **PLACE | place).get("stop", ""))

    def until(self, condition: Callable[[], bool]) -> None:
        """Until the thread of the metrics has done something."""
        limit = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < limit
            time.sleep(0.01)

    def codes(self) -> list[tuple[str, str]]:
        return [(event["event"], event["code"]) for event in AuditLog(self.state).events() if "limit" in event["code"]]

    def end(self) -> list[str]:
        return [each["text"] for each in self.talk.end()]


def test_a_run_ends_and_none_begins(talk: Talk, state: Path) -> None:
    limited = Limited(talk, state, DAY)
    assert (limited.judge()["decision"], limited.begins()) == ("allow", "")
    limited.uses(999)
    assert limited.judge()["decision"] == "allow"
    limited.uses(1)
    found = limited.judge()
    assert (found["decision"], found["code"], found["stop"]) == ("block", "limit.reached", PERSON)
    assert found["waiting"] == ["toolguard limits"]
    assert found["text"].startswith(f"TOOLGUARD_BLOCK|{PERSON}\nNo tool call runs")
    assert limited.begins(run="", session="agent:main:other") == PERSON
    limited.end()
    expected = [("block", "limit.reached"), ("stop", "limit.reached"), ("stop", "limit.reached")]
    assert [each for each in limited.codes() if each[1] != "limit.near"] == expected  # the warning may be too late for one


@pytest.mark.parametrize(
    ("config", "decision", "code", "begins"),
    [
        ({"mode": "soft"}, "block", "limit.reached", False),
        ({"mode": "shadow"}, "allow", "shadow.limit.reached", True),
        ({"mode": "disabled"}, "allow", "allow.disabled", True),
        ({"agents": {"main": {"mode": "disabled"}}}, "allow", "allow.disabled", True),
        ({"neverBlock": ["read"]}, "block", "limit.reached", False),
    ],
    ids=str,
)
def test_modes(talk: Talk, state: Path, config: dict[str, Any], decision: str, code: str, begins: bool) -> None:  # noqa: FBT001
    limited = Limited(talk, state, DAY, **config)
    limited.uses(1_000)
    found = limited.judge()
    assert (found["decision"], found["code"], limited.begins() == "") == (decision, code, begins)
    limited.end()


def test_it_is_warned_once_by_the_file_and_a_restart_forgets_nothing(start: Callable[[], Talk], state: Path) -> None:
    limited = Limited(start(), state, DAY)
    limited.uses(850)
    notes: list[str] = []

    def is_noted() -> bool:
        notes.append(limited.judge().get("note", ""))
        return bool(notes[-1])

    limited.until(is_noted)
    assert "More than 80% of the limit of 1,000 tokens a day has been used (850 tokens)." in notes[-1]
    assert notes[-1].endswith("toolguard limits set day --tokens=2000")
    assert "note" not in limited.judge()
    limited.end()
    again = Limited(start(), state, DAY)
    again.until(lambda: database.is_ours(again.db))
    again.uses(150)
    again.until(lambda: again.judge()["code"] == "limit.reached")
    again.end()
    assert [code for code in again.codes() if code[1] == "limit.near"] == [("note", "limit.near")]


@pytest.mark.parametrize("mode", ["closed", "open"])
def test_a_file_that_stays_unusable_stops_no_read_only_call(talk: Talk, state: Path, mode: str) -> None:
    """What the engine itself counted counts on."""
    state.mkdir()
    limited = Limited(talk, state, DAY, db=state, failMode=mode)
    limited.uses(500)
    writing = {"tool": "write", "params": {"path": "a", "content": "b"}}
    assert limited.judge(**writing)["code"] == "allow"
    talk.clock.pass_by(STALE_SECONDS + 1)
    assert limited.begins() == ""
    assert limited.judge()["code"] == "allow", "a read-only call"
    limited.uses(500)
    assert limited.judge()["code"] == "limit.reached"
    assert limited.begins()
    limited.end()


@pytest.mark.parametrize(("mode", "code"), [("closed", "limit.unknown"), ("open", "allow")])
def test_what_is_not_read_only_waits_for_a_file_that_stays_unusable(talk: Talk, state: Path, mode: str, code: str) -> None:
    state.mkdir()
    limited = Limited(talk, state, DAY, db=state, failMode=mode)
    limited.judge()
    talk.clock.pass_by(STALE_SECONDS + 1)
    found = limited.judge(tool="write", params={"path": "a", "content": "b"})
    assert found["code"] == code
    assert ("toolguard doctor" in found.get("text", "")) == (mode == "closed")
    limited.end()


def test_without_limits_nothing_is_measured(talk: Talk, state: Path) -> None:
    limited = Limited(talk, state)
    limited.uses(10**9)
    assert limited.judge()["decision"] == "allow"
    assert limited.begins() == ""
    assert not limited.db.exists()
