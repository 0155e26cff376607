"""A session that has just used much processor time waits longer than others; it is answered all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_talk import Talk
from tables import each_row
from toolguard_engine.server.fair_turns import CREDIT, MAX_WAITING, MOST_DEBT, MOST_WAIT, QUIET, SHARE, FairTurns
from toolguard_engine.wire import messages

PLACE = {"agent": "a", "session": "busy", "run": "r"}


def call(number: int, session: str = "busy") -> messages.Judge:
    return messages.Judge(number, "exec", {"command": "ls"}, agent="a", session=session, run=f"r-{session}")


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    made = Talk()
    made.hello(tmp_path / "state")
    made.later(60)
    made.said()
    yield made
    made.end()


def ask(number: int, session: str, kind: str = "judge", **more: Any) -> dict[str, Any]:
    place = {"agent": "a", "session": session, "run": f"r-{session}", "call": f"c{number}"}
    return {"id": number, "type": kind, "tool": "exec", "params": {"command": "ls"}, **place, **more}


def answered(talk: Talk) -> list[int]:
    return [each["id"] for each in talk.said() if "id" in each]


def expensive(talk: Talk, seconds: float = 0.1) -> None:
    """A call of the session `busy` takes so much processor time."""
    talk.clock.message_takes = seconds
    talk.send(**ask(1, "busy"))
    talk.clock.message_takes = 0.0
    assert answered(talk) == [1]


def test_its_next_call_waits_while_others_ask(talk: Talk) -> None:
    expensive(talk)
    talk.send(**ask(2, "busy"))
    assert answered(talk) == []
    for number in range(3, 20):
        talk.send(**ask(number, "other"))
        assert answered(talk) == [number]
    talk.later(2 * QUIET)
    assert answered(talk) == [2]


def test_it_does_not_wait_longer_than_its_share_says(talk: Talk) -> None:
    expensive(talk)
    talk.send(**ask(2, "busy"))
    talk.clock.pass_by(0.1 / SHARE + QUIET)
    talk.send(**ask(3, "other"))
    assert sorted(answered(talk)) == [2, 3]


def test_it_never_waits_longer_than_the_gateway_does(talk: Talk) -> None:
    expensive(talk, 10)
    talk.send(**ask(2, "busy"))
    talk.clock.pass_by(MOST_WAIT - 0.1)
    talk.send(**ask(3, "other"))
    assert answered(talk) == [3]
    talk.clock.pass_by(0.1)
    talk.send(**ask(4, "other"))
    assert sorted(answered(talk)) == [2, 4]


def test_questions_for_which_the_gateway_stands_still_do_not_wait(talk: Talk) -> None:
    expensive(talk)
    talk.send(**ask(2, "busy"))
    talk.send(**ask(3, "busy", "came", text="x", size=1))
    talk.send(**ask(4, "busy", "failed", text="no such file"))
    talk.send(id=5, type="message", calls=[{"tool": "exec", "params": {"command": "ls"}}], **PLACE)
    assert answered(talk) == [3, 4, 5]


def test_calls_of_one_session_keep_their_order(talk: Talk) -> None:
    expensive(talk)
    for number in range(2, 10):
        talk.send(**ask(number, "busy"))
    talk.later(1)
    assert answered(talk) == list(range(2, 10))


def test_what_waits_is_answered_when_the_input_ends(talk: Talk) -> None:
    expensive(talk)
    talk.send(**ask(2, "busy"))
    assert [each["id"] for each in talk.end() if "id" in each] == [2]


def test_the_kill_switch_counts_for_what_waits(talk: Talk, tmp_path: Path) -> None:
    expensive(talk)
    talk.send(**ask(2, "busy"))
    (tmp_path / "state" / "toolguard" / "kill-switch").write_text("stop", "utf-8")
    talk.clock.pass_by(MOST_WAIT)
    talk.later(1)
    assert [each["code"] for each in talk.said() if each.get("id") == 2] == ["kill-switch.on"]


def test_everyday_calls_are_not_counted() -> None:
    turns = FairTurns()
    for number in range(1_000):
        turns.used(call(number), 0.009, 0.0)
    assert not turns.postpones(call(0), 0.0)


def test_who_used_little_waits_little() -> None:
    turns = FairTurns()
    turns.used(call(1), CREDIT + 0.02, 0.0)
    assert turns.postpones(call(2), 0.0)
    assert turns.next == pytest.approx(0.02 / SHARE)
    assert turns.take(turns.next) == call(2)
    assert not turns.postpones(call(3), 0.02 / SHARE + 1e-6)


def test_a_call_that_is_a_little_slower_now_and_then_waits_for_nothing() -> None:
    turns = FairTurns()
    for second in range(100):
        turns.used(call(second), 0.9 * SHARE, float(second))
        assert not turns.postpones(call(second), float(second))


def test_one_slow_call_after_the_other_uses_up_the_credit() -> None:
    turns = FairTurns()
    waits = []
    for third in range(6):
        turns.used(call(third), 0.03, third / 3)
        waits.append(turns.postpones(call(third), third / 3))
    assert waits[0] is False
    assert waits[-1] is True


def test_nobody_has_to_wait_for_ever() -> None:
    turns = FairTurns()
    for number in range(100):
        turns.used(call(number), 10.0, 0.0)
    assert turns.postpones(call(1), MOST_DEBT - 0.1)
    assert turns.take() == call(1)
    assert not turns.postpones(call(1), MOST_DEBT)


@each_row(
    "note",
    [
        messages.RunEnd("r-busy"), messages.SessionEnd("busy"), messages.UserMessage("x", session="busy"),
        messages.ToolText("exec", "x", run="r-busy"), messages.ToolResult("exec", session="busy"),
    ],
)  # fmt: skip
def test_what_is_noted_behind_a_call_stays_behind_it(note: messages.Incoming) -> None:
    turns = FairTurns()
    turns.used(call(1), 0.1, 0.0)
    assert turns.postpones(call(2), 0.0)
    assert turns.postpones(note, 0.0)
    assert turns.postpones(call(3), 0.0)
    assert [turns.take(2.0), turns.take(2.0), turns.take(2.0)] == [call(2), note, call(3)]
    assert not turns.postpones(note, 0.0)


@each_row("note", [messages.RunEnd("r-other"), messages.SessionEnd("other"), messages.Warned("x"), messages.Ping(1)])
def test_what_is_about_others_waits_for_nothing(note: messages.Incoming) -> None:
    turns = FairTurns()
    turns.used(call(1), 0.1, 0.0)
    assert turns.postpones(call(2), 0.0)
    assert not turns.postpones(note, 0.0)
    assert not turns.postpones(call(3, "other"), 0.0)


def test_there_is_an_end_to_what_waits() -> None:
    turns = FairTurns()
    turns.used(call(1), 1.0, 0.0)
    assert [turns.postpones(call(number), 0.0) for number in range(MAX_WAITING + 1)] == [True] * MAX_WAITING + [False]
