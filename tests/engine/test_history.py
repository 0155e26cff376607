"""The history of a run against a plain implementation of its rules: slow, and without anything remembered in between."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine.model.history import Count, Past


class Step(NamedTuple):
    call: int
    family: int
    result: int
    series: int
    freely: bool = False
    then: str = ""
    """`news`: it told something new, `progress`: it may have changed something."""

    def is_same_call(self, other: Step) -> bool:
        return self.call == other.call or (self.series == other.series and self.family == other.family != 0)


@st.composite
def steps(draw: st.DrawFn) -> Step:
    """Calls 1 to 4; 3 and 4 fail and differ in numbers only, so that they are of one family."""
    call, result = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    if call < 3:
        then = draw(st.sampled_from(["", "", "news", "progress"]))
        return Step(call, 0, call * 10 + result, call * 10 + result, then=then)
    wording = draw(st.integers(1, 2))
    return Step(call, 9, call * 100 + wording * 10 + result, 900 + wording, draw(st.booleans()))


def behind(window: list[Step], *marks: str) -> list[bool]:
    """Of each step whether it lies behind the last one so marked; progress begins with that step itself."""
    found, counts = [], True
    for step in reversed(window):
        counts = counts and not (step.then == "news" in marks)
        found.append(counts)
        counts = counts and not (step.then == "progress" in marks)
    return found[::-1]


def streak(window: list[Step], step: Step) -> int:
    found = 0
    counts = behind(window, "progress")
    varying = behind(window, "progress", "news") if step.freely else counts
    for at in reversed(range(len(window))):
        other = window[at]
        if not counts[at] or (other.call == step.call and other.result != step.result):
            break
        found += other.call == step.call or (varying[at] and other.is_same_call(step))
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
    for drawn in made:
        is_known = drawn.call in (each.call for each in window)
        step = drawn._replace(then="") if is_known else drawn
        before = past.streak(step.call, step.series, step.result, freely=step.freely)
        assert before == streak(window, step)
        full = past.enter(*step[:4], size)
        past.heat(before + 1)
        if step.then == "news":
            past.brought_news()
        if step.then == "progress":
            past.progressed()
        assert full == (len(window) == size)
        window = [*window, step][-size:]
        assert (past.calls, past.series) == ([each.call for each in window], [each.series for each in window])
        assert min(past.alternating, len(window)) == alternating(window)
        counts = behind(window, "progress")
        longest = max(streak(window[: at + 1], window[at]) for at in range(len(window)) if counts[at])
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
