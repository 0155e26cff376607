"""Properties of the detectors of repetition over any run, and over runs that another engine goes on with."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.test_detectors import TABLE, spelled

from loop_play import Play, config, messages
from tables import each_row
from toolguard_engine.model.history import Past

RESTARTED = [row for row in TABLE if row[0] in {
    "repeat", "poll", "above-critical", "ping-pong-default", "failure-with-a-counter", "breaker-of-three",
    "breaker-of-eight", "errors", "errors-in-turn", "errors-between-reads", "batches-of-known", "compaction-own",
    "progress", "good-calls", "varying", "errors-varying", "tests-behind-an-edit",
}]  # fmt: skip


@each_row(("text", "settings", "expected"), [row[1:] for row in RESTARTED], ids=[row[0] for row in RESTARTED])
@each_row("lap", [2, 3, 5])
def test_a_restart_forgets_nothing_that_matters(text: str, settings: dict[str, Any], expected: str, lap: int) -> None:
    """What was new alone is not saved, so the first repetition comes before the first restart."""
    played, all_messages = Play(config(settings)), list(messages(text))
    start = 12 if "breaker" in expected else 3
    for number, message in enumerate(all_messages, 1):
        played.play(message)
        if number >= start and number % lap == 0:
            played.restart()
    assert spelled(played.did) == expected


def test_a_run_in_which_all_is_new_is_not_saved() -> None:
    played = Play(config())
    played.play("An*9 R@n1*9 P?n*9")
    assert played.guard.take_touched() == {}
    played.play("B1 B1")
    assert list(played.guard.take_touched()) == ["r"]
    played.play("B2")  # and that it moves again
    assert list(played.guard.take_touched()) == ["r"]


def test_steps_that_no_engine_wrote_are_dropped() -> None:
    past = msgspec.json.decode(b'{"calls": [1, 2], "series": [1], "hot": 30, "stale": 3}', type=Past)
    assert past == Past(stale=3)


WORDS = st.lists(
    st.lists(st.sampled_from(["An", "Bn", "A@3n", "R@nn", "R!n.n", "E!n.n", "E@n!n.n", "E?n.n", "Pn", "P!n.n", "Wn", "W!n"]),
             min_size=1, max_size=4).map("+".join) | st.just("~"),
    max_size=60,
)  # fmt: skip
THRESHOLDS = st.fixed_dictionaries(
    {"warningThreshold": st.integers(3, 6), "criticalThreshold": st.integers(4, 9), "historySize": st.integers(1, 40),
     "globalCircuitBreakerThreshold": st.integers(1, 12), "identicalErrors": st.just({"warn": 2, "stop": 3})}
)  # fmt: skip


@given(words=WORDS, thresholds=THRESHOLDS, counted=st.booleans())
def test_a_run_in_which_every_result_is_new_is_never_touched(
    words: list[str], thresholds: dict[str, Any], *, counted: bool
) -> None:
    played = Play(config(thresholds), first_request=int(counted))
    assert played.play(" ".join(words)) == {}
    assert played.guard.take_touched() == {} or "~" in words or any("!" in word for word in words)


KNOWN = st.lists(
    st.lists(st.sampled_from(["A1", "B1", "C1", "R!1", "E!2", "P1", "E@n?3"]), min_size=1, max_size=9).map("+".join),
    min_size=1, max_size=40,
)  # fmt: skip


@given(words=KNOWN, thresholds=THRESHOLDS)
def test_no_run_ends_in_the_message_in_which_it_was_first_warned(words: list[str], thresholds: dict[str, Any]) -> None:
    played = Play(config(thresholds | {"globalCircuitBreakerThreshold": 6}))
    for message in words:
        before = dict(played.did)
        played.play(message)
        if played.ended:
            assert before
            break
