"""Malformed calls as tables: what happens in a run, and what the guard does about it.

An event is a word: `a` to `z` is that call failing, `+a` its success, `?a` the question whether it may run,
`!ab` a message of the model with these calls. What the guard does: `corrected`, `loop-detected`, `limit`; `stop` or `go`
for a message; `allow` or the code of the block; `-` for a success.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.layers import malformed_loops
from toolguard_engine.model.call import Call, Failure, ParameterProblem, Run

TEXT = 'Validation failed for tool "read":\n  - path: must be string\n\nReceived arguments:\n{}'


def call(letter: str) -> Call:
    return Call("read", {"n": letter}, run="r")


def play(events: str, config: Config) -> list[str]:
    guard = Guard(config, {})
    return [one(guard, event) for event in events.split()]


def one(guard: Guard, event: str) -> str:
    match event[0]:
        case "+":
            guard.succeeded(call(event[1:]))
            return "-"
        case "?":
            return guard.judge(call(event[1:])).code
        case "!":
            return "stop" if guard.message("r", "", [call(letter) for letter in event[1:]]) else "go"
    refusal = guard.failed(call(event), TEXT, judged=False)
    assert refusal is not None
    assert (refusal.correction.stop is not None) == (refusal.correction.action == "limit")
    return refusal.correction.action


SEQUENCES = [
    ("first", (2, 5), "a", "corrected"),
    ("second", (2, 5), "a a", "corrected loop-detected"),
    ("one-more", (2, 5), "a a a", "corrected loop-detected limit"),
    ("message-before-one-more", (2, 5), "!a a !a a !a", "go corrected go loop-detected stop"),
    ("stays-stopped", (2, 5), "a a !a !b ?c b", "corrected loop-detected stop stop loop.identical limit"),
    ("different", (2, 5), "a b c d e", "corrected corrected corrected corrected limit"),
    ("different-then-message", (2, 5), "a b c d e !f ?f", "corrected corrected corrected corrected limit stop loop.limit"),
    ("mixed", (2, 5), "a b a b c", "corrected corrected loop-detected loop-detected limit"),
    ("success-resets-identical", (2, 5), "a +a a a", "corrected - corrected loop-detected"),
    ("success-resets-not-total", (2, 5), "a +a a +a a +a a +a a", "corrected - corrected - corrected - corrected - limit"),
    ("success-of-another", (2, 5), "a +b a", "corrected - loop-detected"),
    ("success-after-stop", (2, 5), "a a a +a ?a", "corrected loop-detected limit - loop.identical"),
    ("batch-same", (2, 5), "!aa a a !a", "go corrected loop-detected stop"),
    ("batch-three", (2, 5), "!aaa a a a", "go corrected loop-detected limit"),
    ("batch-with-a-neighbour", (2, 5), "a a !ab !ba !bb !aa", "corrected loop-detected go go go stop"),
    ("batch-of-two-loops", (2, 5), "a a b b !ab", "corrected loop-detected corrected loop-detected stop"),
    ("empty-message", (2, 5), "a a !", "corrected loop-detected go"),
    ("judge-new", (2, 5), "?a a ?b", "allow corrected allow"),
    ("judge-once-failed", (2, 5), "a ?a", "corrected allow"),
    ("judge-looping", (2, 5), "a a ?a ?b", "corrected loop-detected loop.identical loop.identical"),
    ("identical-1", (1, 5), "a ?a", "loop-detected loop.identical"),
    ("identical-1-again", (1, 5), "a a", "loop-detected limit"),
    ("identical-1-different", (1, 3), "a b c", "loop-detected loop-detected limit"),
    ("identical-3", (3, 9), "a a !a a !a", "corrected corrected go loop-detected stop"),
    ("total-1", (2, 1), "a !b", "limit stop"),
    ("total-2", (2, 2), "a a", "corrected limit"),
    ("total-below-identical", (9, 3), "a a a", "corrected corrected limit"),
    ("total-100", (100, 100), " ".join("a" * 100), " ".join(["corrected"] * 99 + ["limit"])),
]


@each_row(("limits", "events", "expected"), [row[1:] for row in SEQUENCES], ids=[row[0] for row in SEQUENCES])
def test_sequences(limits: tuple[int, int], events: str, expected: str) -> None:
    identical, total = limits
    config = Config(max_identical_failures=identical, max_failures_per_turn=total)
    assert play(events, config) == expected.split()


def test_an_endless_call_costs_three_messages() -> None:
    assert play("!a a !a a !a", Config()) == ["go", "corrected", "go", "loop-detected", "stop"]


def test_order_of_keys_is_irrelevant() -> None:
    one_way = Call("read", {"a": 1, "b": {"c": [1, 2], "d": None}})
    other_way = Call("read", {"b": {"d": None, "c": [1, 2]}, "a": 1})
    assert malformed_loops.key(one_way) == malformed_loops.key(other_way)


DIFFERENT = [
    (Call("read", {}), Call("write", {})),
    (Call("read", {"a": 1}), Call("read", {"a": "1"})),
    (Call("read", {"a": [1, 2]}), Call("read", {"a": [2, 1]})),
    (Call("read", {}), Call("read", None)),
    (Call("read", {}), Call("read", "{}")),
    (Call("read", {"a": None}), Call("read", {})),
]


@each_row(("one_call", "other_call"), DIFFERENT, ids=range(len(DIFFERENT)))
def test_different_calls_have_different_keys(one_call: Call, other_call: Call) -> None:
    assert malformed_loops.key(one_call) != malformed_loops.key(other_call)


def test_spelling_of_the_tool_is_irrelevant() -> None:
    assert malformed_loops.key(Call("openclaw:core:Read", {})) == malformed_loops.key(Call("read", {}))


def test_another_cause_starts_anew() -> None:
    run = Run()
    causes = [
        Failure("validation", (ParameterProblem("path", missing=True, detail=detail),)) for detail in ("a", "b", "b", "b")
    ]
    reported = [malformed_loops.on_failure(call("a"), cause, run, Config(), {}).action for cause in causes]
    assert reported == ["corrected", "corrected", "loop-detected", "limit"]


def test_the_memory_of_a_run_is_bounded() -> None:
    run = Run()
    config = Config(max_failures_per_turn=100)
    for number in range(3 * malformed_loops.MAX_DISTINCT):
        malformed_loops.on_failure(Call("read", number), Failure("validation"), run, config, {})
    assert (run.failures, len(run.identical)) == (3 * malformed_loops.MAX_DISTINCT, malformed_loops.MAX_DISTINCT)


limits = st.integers(1, 12)
letters = st.sampled_from("abcd")


@given(events=st.lists(letters, max_size=40), identical=limits, total=limits)
def test_a_run_ends_after_the_last_failure_that_it_may_have(events: list[str], identical: int, total: int) -> None:
    actions = play(" ".join(events), Config(max_identical_failures=identical, max_failures_per_turn=total)) if events else []
    assert "limit" not in actions[: min(identical, total - 1)]
    assert all(action == "limit" for action in actions[total - 1 :])
    stopped = actions.index("limit") if "limit" in actions else len(actions)
    assert all(action == "limit" for action in actions[stopped:])


@given(events=st.lists(letters | letters.map("+".__add__) | letters.map("?".__add__) | letters.map("!".__add__), min_size=1))
def test_a_run_never_comes_back_from_its_end(events: list[str]) -> None:
    actions = play(" ".join(events), Config())
    ended = next((i for i, action in enumerate(actions) if action in ("limit", "stop", "loop.identical")), len(actions))
    assert {action for action in actions[ended:] if action != "-"} <= {"limit", "stop", "loop.identical", "loop.limit"}
    assert sum(action in ("corrected", "loop-detected") for action in actions) <= 4


@given(identical=limits, total=limits)
def test_an_identical_endless_call_is_corrected_then_warned_then_stopped(identical: int, total: int) -> None:
    config = Config(max_identical_failures=identical, max_failures_per_turn=total)
    reported = []
    guard = Guard(config, {})
    while one(guard, "!a") == "go":
        reported.append(one(guard, "a"))
    if identical < total:
        assert reported == ["corrected"] * (identical - 1) + ["loop-detected"]
    else:
        assert reported == ["corrected"] * (total - 1) + ["limit"]


MESSAGES = [
    ("identical calls of one message count once", "1a 1a 1a 2a 3a", "corrected corrected corrected loop-detected limit"),
    (
        "one message alone never ends the run",
        "1a 1b 1c 1d 1e 1f",
        "corrected corrected corrected corrected corrected corrected",
    ),
    ("the next failure does", "1a 1b 1c 1d 1e 2f", "corrected corrected corrected corrected corrected limit"),
    ("two messages", "1a 1b 2c 2d 2e", "corrected corrected corrected corrected limit"),
]


@each_row(("events", "expected"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES])
def test_calls_of_one_message_are_one_attempt(events: str, expected: str) -> None:
    """A digit is the request to the model that the call came from."""
    guard = Guard(Config(), {})
    reported = [guard.failed(replace(call(e[1]), request=int(e[0])), TEXT, judged=False) for e in events.split()]
    assert [refusal.correction.action for refusal in reported if refusal] == expected.split()


def test_failures_while_no_engine_was_there_count() -> None:
    refusal = Guard(Config(), {}).failed(replace(call("a"), request=5), TEXT, judged=False, missed=4)
    assert refusal is not None
    assert refusal.correction.action == "limit"


def test_a_tool_that_is_only_there_through_tool_search_may_be_called_so() -> None:
    guard = Guard(Config(), {})
    direct = Call("message", {"action": "send"}, run="r")
    for _ in range(2):
        assert guard.failed(direct, "Tool message not found", judged=False)
    envelope = Call("tool_call", {"id": "message", "args": {"action": "send"}}, run="r")
    assert guard.message("r", "", [envelope]) == []
    assert guard.message("r", "", [direct]) != []


def test_the_key_of_a_huge_call_is_small_and_still_its_own() -> None:
    one, other = (malformed_loops.key(Call("write", {"path": name, "content": "x" * 1_000_000})) for name in "ab")
    assert (len(one), len(other)) == (64, 64)
    assert one != other
    assert one == malformed_loops.key(Call("write", {"content": "x" * 1_000_000, "path": "a"}))
