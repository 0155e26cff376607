"""The history of a run against a plain reading of its law: slow, and without anything remembered in between."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine.history import Count, Past


class Step(NamedTuple):
    call: int
    family: int
    result: int
    series: int

    def is_same_call(self, other: Step) -> bool:
        return self.call == other.call or (self.series == other.series and self.family == other.family != 0)


@st.composite
def steps(draw: st.DrawFn) -> Step:
    """Calls 1 to 4; 3 and 4 fail and differ in numbers only, so that they are of one family."""
    call, result = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    if call < 3:
        return Step(call, 0, call * 10 + result, call * 10 + result)
    wording = draw(st.integers(1, 2))
    return Step(call, 9, call * 100 + wording * 10 + result, 900 + wording)


def streak(window: list[Step], step: Step) -> int:
    found = 0
    for other in reversed(window):
        if other.call == step.call and other.result != step.result:
            break
        found += other.is_same_call(step)
    return found


def alternating(window: list[Step]) -> int:
    found = 1
    for at in range(len(window) - 1, 0, -1):
        one, two = window[at], window[at - 1]
        if one.series == two.series or one.call == two.call:
            break
        if at + 1 < len(window):
            before = window[at + 1]
            if two.result != before.result if two.call == before.call else two.series != before.series:
                break
        found += 1
    return found


@given(made=st.lists(steps(), max_size=60), size=st.integers(1, 12))
def test_against_the_plain_law(made: list[Step], size: int) -> None:
    past, window, longest = Past(), list[Step](), 0
    for step in made:
        before = past.streak(step.call, step.series, step.result)
        assert before == streak(window, step)
        full = past.enter(*step, size)
        past.heat(before + 1)
        assert full == (len(window) == size)
        window = [*window, step][-size:]
        assert (past.calls, past.series) == ([each.call for each in window], [each.series for each in window])
        assert min(past.alternating, len(window)) == alternating(window)
        longest = max(streak(window[: at + 1], each) for at, each in enumerate(window))
        assert past.hot >= max(longest, alternating(window))
        newest = past.newest(step.call, step.family or -1)
        assert newest == len(window) - 1
    assert past.newest(5, 8) == -1
    assert past.hot <= max(len(made), 2)


def test_counts_of_one_request_are_one() -> None:
    count = Count()
    assert [count.again(request) for request in (1, 1, 2, 0, 0, 2)] == [True, False, True, True, True, True]
    assert count.count == 5


def test_what_one_message_did_already() -> None:
    past = Past()
    for number, request in enumerate((1, 2, 2, 0), 1):
        assert not past.in_message(number, request)
        past.enter(number, 0, number, number, 30)
        past.of_message(request)
        assert past.in_message(number, request) == (request != 0)
        assert not past.in_message(number, request + 1)
    past = Past()
    past.enter(1, 0, 1, 1, 30)
    past.of_message(1)
    past.enter(2, 0, 2, 2, 30)
    past.of_message(2)
    assert not past.in_message(1, 2)
