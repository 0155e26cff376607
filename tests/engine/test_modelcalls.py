"""Two notes make one row: what of the gateway's words becomes a model call."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.metrics import model_calls
from toolguard_engine.metrics.bounds import MAX_COST
from toolguard_engine.metrics.bounds import MAX_TOKENS as MOST
from toolguard_engine.metrics.model_calls import MAX_WAITING, WAIT_SECONDS, ModelCalls
from toolguard_engine.metrics.row_writer import CallRecord
from toolguard_engine.wire import messages
from toolguard_engine.wire.messages import ModelAnswer, ModelEnded, Used
from toolguard_engine.wording.visible_text import is_visible

NOW = 1_800_000_000.5
MS = 1_800_000_000_500
SESSION = "agent:main:telegram:direct:1"
PLACE = {"agent": "main", "session": SESSION, "run": "r1"}
WHO = {"provider": "openai", "model": "gpt-x"}
ENDED = ModelEnded(**PLACE, **WHO, call="r1:model:1", duration_ms=159, outcome="completed")
USED = Used(input=10, output=2, cache_read=3, cache_write=4, total_tokens=19, cost=1.5)
ANSWER = ModelAnswer(**PLACE, **WHO, usage=USED, stop="toolUse")
ROW = CallRecord(
    at=MS, agent="main", session=SESSION, channel="telegram", provider="openai", model="gpt-x",
    input=10, output=2, cache_read=3, cache_write=4, total=19, cost_usd=1.5, duration_ms=159, outcome="completed",
)  # fmt: skip
NOTHING = {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "total": 0}
replaced = msgspec.structs.replace
Note = ModelEnded | ModelAnswer


def after_notes(*notes: Note, calls: ModelCalls | None = None, now: float = NOW) -> ModelCalls:
    calls = calls or ModelCalls()
    for note in notes:
        if isinstance(note, ModelEnded):
            calls.ended(note, now)
        else:
            calls.answered(note, now)
    return calls


def rows(*notes: Note) -> list[CallRecord]:
    """All of them, also those that would wait for more."""
    calls = after_notes(*notes)
    calls.due(NOW + WAIT_SECONDS)
    return calls.take()


def used(**changes: Any) -> ModelAnswer:
    return replaced(ANSWER, usage=replaced(USED, **changes))


def test_both_orders_give_the_same_row_at_once() -> None:
    for notes in ((ENDED, ANSWER), (ANSWER, ENDED)):
        calls = after_notes(*notes)
        assert calls.take() == [ROW]
        assert calls.take() == []


OF_AN_ANSWER_ALONE = ROW._replace(duration_ms=None)
OF_AN_END_ALONE = ROW._replace(**NOTHING, cost_usd=None)
OTHER = {"provider": "anthropic", "model": "claude-x"}
OTHERS_END, OTHERS_ANSWER = replaced(ENDED, **OTHER), replaced(ANSWER, **OTHER)
CASES: list[tuple[str, tuple[Note, ...], list[CallRecord]]] = [
    ("a failure without an answer", (replaced(ENDED, outcome="aborted"),), [OF_AN_END_ALONE._replace(outcome="aborted")]),
    (
        "a failure with an answer that used nothing",
        (replaced(ENDED, outcome="error"), replaced(ANSWER, usage=Used(cost=0), stop="error")),
        [ROW._replace(**NOTHING, cost_usd=0.0, outcome="error")],
    ),
    ("a summary, whose tokens nobody tells", (replaced(ENDED, run="r1:compaction:x"),), [OF_AN_END_ALONE]),
    ("an answer of another runtime", (ANSWER,), [OF_AN_ANSWER_ALONE]),
    ("an answer of it that failed", (replaced(ANSWER, usage=Used(), stop="error"),),
     [OF_AN_ANSWER_ALONE._replace(**NOTHING, cost_usd=0.0, outcome="error")]),
    ("words of the gateway", (replaced(ANSWER, usage=Used(), stop="stop"),), []),
    ("an end that is good, and an answer that is not", (ENDED, replaced(ANSWER, stop="aborted")),
     [ROW._replace(outcome="aborted")]),
    ("no outcome", (replaced(ENDED, outcome=""), ANSWER), [ROW]),
    ("an answer of a run that nobody knows", (ENDED, replaced(ANSWER, run="")), [ROW]),
    ("the same, the other way round", (replaced(ANSWER, run=""), ENDED), [ROW]),
    ("another session", (ENDED, replaced(ANSWER, session="agent:main:main", run="")),
     [OF_AN_END_ALONE, OF_AN_ANSWER_ALONE._replace(session="agent:main:main", channel="")]),
    ("the same run in another session", (ENDED, replaced(ANSWER, session="agent:main:main")),
     [OF_AN_END_ALONE, OF_AN_ANSWER_ALONE._replace(session="agent:main:main", channel="")]),
    ("two calls", (ENDED, ANSWER, ENDED, ANSWER), [ROW, ROW]),
    ("two ends, one answer", (replaced(ENDED, outcome="timeout"), ENDED, ANSWER),
     [OF_AN_END_ALONE._replace(outcome="timeout"), ROW]),
    ("two answers, one end", (ANSWER, used(input=11), ENDED), [OF_AN_ANSWER_ALONE, ROW._replace(input=11)]),
    ("another model takes over", (replaced(ENDED, outcome="timeout"), OTHERS_ANSWER, OTHERS_END),
     [OF_AN_END_ALONE._replace(outcome="timeout"), ROW._replace(**OTHER)]),
    ("another model's answer, the other way round", (OTHERS_ANSWER, ENDED, ANSWER),
     [OF_AN_ANSWER_ALONE._replace(**OTHER), ROW]),
    ("answers of a run that nobody knows, of two models", (replaced(OTHERS_END, run="r2"), ENDED,
     replaced(OTHERS_ANSWER, run=""), replaced(ANSWER, run="")), [ROW._replace(**OTHER), ROW]),
    ("a second name for the provider", (replaced(ENDED, provider="openai-codex"), ANSWER),
     [ROW._replace(provider="openai-codex")]),
    ("a second name for the model", (ENDED, replaced(ANSWER, model="gpt-x-2026")), [ROW]),
    ("a name that nobody tells", (ENDED, replaced(ANSWER, provider="", model="")), [ROW]),
    ("a summary between two calls", (ENDED, ANSWER, replaced(ENDED, run="r1:compaction:x", duration_ms=7), ENDED, ANSWER),
     [ROW, ROW, OF_AN_END_ALONE._replace(duration_ms=7)]),
]  # fmt: skip


@each_row(("notes", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_cases(notes: tuple[Note, ...], expected: list[CallRecord]) -> None:
    assert rows(*notes) == expected


COSTS: list[tuple[str, dict[str, Any], float | None]] = [
    ("a price", {"cost": 0.007978}, 0.007978),
    ("no price", {"cost": None}, None),
    ("no price is no cost to the gateway", {"cost": 0}, None),
    ("nothing used", {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "total_tokens": 0, "cost": 0}, 0.0),
    ("a refund", {"cost": -1}, None),
    ("no number", {"cost": "1"}, None),
    ("true", {"cost": True}, None),
    ("not a number", {"cost": math.nan}, None),
    ("endless", {"cost": math.inf}, float(MAX_COST)),
]


@each_row(("changes", "cost"), [case[1:] for case in COSTS], ids=[case[0] for case in COSTS])
def test_cost(changes: dict[str, Any], cost: float | None) -> None:
    assert [row.cost_usd for row in rows(ENDED, used(**changes))] == [cost]


COUNTS: list[tuple[Any, int]] = [
    (0, 0), (1, 1), (2.6, 3), (-1, 0), (MOST, MOST), (MOST + 1, MOST), (10**400, MOST), (math.inf, MOST), (-math.inf, 0),
    (math.nan, 0), ("7", 0), (None, 0), (True, 0), ([7], 0), ({"a": 1}, 0),
]  # fmt: skip


@each_row(("value", "number"), COUNTS, ids=[str(case[0])[:20] for case in COUNTS])
def test_counts(value: Any, number: int) -> None:
    assert model_calls.count(value) == number
    (row,) = rows(replaced(ENDED, duration_ms=value), used(input=value))
    assert (row.input, row.duration_ms) == (number, number)


def test_a_sum_that_is_not_told() -> None:
    assert [row.total for row in rows(ENDED, used(total_tokens=0))] == [19]
    assert [row.total for row in rows(ENDED, used(total_tokens=None, input=MOST, output=MOST))] == [MOST]


def test_texts_are_bounded_and_printable() -> None:
    bad = "\x1b[31m<b>\n\u202e" + "x" * 10_000
    place = {"agent": bad, "session": bad, "run": bad, "provider": bad, "model": bad, "channel": bad}
    for note in (ModelEnded(**place, outcome=bad), ModelAnswer(**place, usage=USED, stop=bad)):
        (row,) = rows(note)
        for text in (value for value in row if isinstance(value, str)):
            assert len(text) < 1_000
            assert is_visible(text)


# ---- nothing is held back


def test_the_end_of_a_run_ends_the_waiting_also_of_what_was_for_it() -> None:
    calls = after_notes(ENDED, replaced(ENDED, run="r1:compaction:x"), replaced(ENDED, run="r10"))
    calls.run_ended("r1")
    assert len(calls.take()) == 2
    calls.run_ended("r10")
    assert len(calls.take()) == 1


@pytest.mark.parametrize("later", [WAIT_SECONDS, 1e6, -WAIT_SECONDS], ids=["in time", "long after", "set back"])
def test_time_ends_the_waiting(later: float) -> None:
    calls = after_notes(ENDED)
    calls.due(NOW + 0.9 * WAIT_SECONDS)
    assert calls.take() == []
    calls.due(NOW + later)
    assert calls.take() == [OF_AN_END_ALONE]


def test_too_many_wait() -> None:
    calls = after_notes(*(replaced(ENDED, run=f"r{number}", duration_ms=number) for number in range(1, MAX_WAITING + 2)))
    assert [row.duration_ms for row in calls.take()] == [1]


def test_rows_that_nobody_takes_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_calls, "MAX_DONE", 3)
    calls = after_notes(*(each for number in range(1, 6) for each in (replaced(ENDED, duration_ms=number), ANSWER)))
    assert [row.duration_ms for row in calls.take()] == [3, 4, 5]


# ---- laws

kinds = st.lists(st.tuples(st.sampled_from(["ended", "answer"]), st.integers(0, 2), st.booleans()), max_size=40)


@given(kinds)
def test_every_note_is_in_exactly_one_row(notes: list[tuple[str, int, bool]]) -> None:
    """Numbers tell the notes apart: those of ends are durations, those of answers are tokens."""
    calls = ModelCalls()
    for number, (kind, run, flush) in enumerate(notes, 1):
        place = {**PLACE, "run": f"r{run}" if run else ""}
        if kind == "ended":
            after_notes(ModelEnded(**place, duration_ms=number), calls=calls)
        else:
            after_notes(ModelAnswer(**place, usage=Used(input=number)), calls=calls)
        if flush:
            calls.run_ended(place["run"])
    calls.due(NOW + WAIT_SECONDS)
    found = calls.take()
    ends = [number for number, (kind, *_) in enumerate(notes, 1) if kind == "ended"]
    answers = [number for number, (kind, *_) in enumerate(notes, 1) if kind == "answer"]
    assert Counter(row.duration_ms for row in found if row.duration_ms is not None) == Counter(ends)
    assert Counter(row.input for row in found if row.input) == Counter(answers)
    assert all(row.input or row.duration_ms is not None for row in found)


@given(st.lists(st.booleans(), max_size=20), st.permutations(range(3)))
def test_order_does_not_matter_within_a_run(answer_first: list[bool], runs: list[int]) -> None:
    calls = ModelCalls()
    for number, first in enumerate(answer_first, 1):
        place = {**PLACE, "run": f"r{runs[number % 3]}"}
        pair = (ModelEnded(**place, duration_ms=number), ModelAnswer(**place, usage=Used(input=number)))
        after_notes(*(reversed(pair) if first else pair), calls=calls)
    found = [(row.duration_ms, row.input) for row in calls.take()]
    assert found == [(number, number) for number in range(1, len(answer_first) + 1)]


values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=2)
)


@given(values, values, values, values, st.text(), st.text())
def test_any_values_give_a_row_that_can_be_written(a: Any, b: Any, c: Any, d: Any, outcome: str, stop: str) -> None:
    end = ModelEnded(**PLACE, duration_ms=a, outcome=outcome)
    (row,) = rows(end, ModelAnswer(**PLACE, usage=Used(input=b, cache_read=b, output=c, total_tokens=a, cost=d), stop=stop))
    for name in ("input", "output", "cache_read", "cache_write", "total", "duration_ms"):
        assert type(getattr(row, name)) is int
        assert 0 <= getattr(row, name) <= MOST
    assert row.cost_usd is None or 0 <= row.cost_usd <= MAX_COST
    assert row.outcome


def test_from_the_wire() -> None:
    line = (
        b'{"type":"answered","run":"r1","agent":"main","session":"agent:main:telegram:direct:1","channel":"","provider":"openai",'
        b'"model":"gpt-x","usage":{"input":10,"output":"many","cacheRead":null,"totalTokens":-1,"cost":{}},"stop":"stop"}'
    )
    note = messages.decode(line)
    assert isinstance(note, ModelAnswer)
    (row,) = rows(ENDED, note)
    assert row == ROW._replace(output=0, cache_read=0, cache_write=0, total=10, cost_usd=None)
