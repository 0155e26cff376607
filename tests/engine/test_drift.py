"""Each signal of drift by itself: from where on, for which calls, and what it says."""

from __future__ import annotations

from typing import Any

from tables import each_row
from toolguard_engine.approvals.standing import Seen
from toolguard_engine.config.settings import DriftConfig
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.layers.autonomy import drift
from toolguard_engine.layers.autonomy.drift import DriftStep, resource

OFF = DriftConfig(escalating_access=0, outward_calls=0, calls_per_minute=0, same_resource=0, warnings=0, minutes_alone=0)
WHO = "agent main"
NOON = 1_700_000_000.0
ONE = ((1, "a.txt"),)


def codes(seen: Seen, step: DriftStep, limits: DriftConfig = DriftConfig()) -> list[str]:  # noqa: B008 - frozen
    return [signal.code for signal in drift.judge(seen, step, limits, WHO)]


def ran(*steps: DriftStep) -> Seen:
    seen = Seen()
    for step in steps:
        drift.count(seen, step)
    return seen


def test_an_agent_that_does_little_does_not_drift() -> None:
    assert (
        codes(ran(DriftStep(0, at=NOON), DriftStep(1, at=NOON + 1)), DriftStep(3, outward=True, resources=ONE, at=NOON + 2))
        == []
    )


@each_row(
    ("ranks", "following", "asked"),
    [
        ([0, 1, 2], 3, True),
        ([1, 2], 3, True),
        ([0, 1, 2], 2, False),
        ([0, 1, 1, 0, 2, 1], 3, True),
        ([0, 1], 3, False),
        ([0], 4, False),
        ([2, 3], 4, True),
        ([0, 1, 2, 3], 3, False),
    ],
)
def test_escalating_access(ranks: list[int], following: int, asked: bool) -> None:  # noqa: FBT001 - a value
    seen = ran(*(DriftStep(rank, at=NOON + 10 * place) for place, rank in enumerate(ranks)))
    assert codes(seen, DriftStep(following, at=NOON + 100)) == (["drift.escalation"] if asked else [])
    assert codes(seen, DriftStep(following, at=NOON + 100), OFF) == []


def test_the_first_rise_may_be_enough() -> None:
    limits = DriftConfig(escalating_access=1)
    assert codes(Seen(), DriftStep(0, at=NOON), limits) == []
    (signal,) = drift.judge(Seen(), DriftStep(1, at=NOON), limits, WHO)
    assert signal.reason == "The calls of agent main are getting riskier: from SAFE to LOW; this is increase number 1."


def test_outward_calls() -> None:
    seen = ran(*(DriftStep(3, outward=True, at=NOON + 30 * n) for n in range(10)))
    assert (
        codes(
            ran(*(DriftStep(3, outward=True, at=NOON + 30 * n) for n in range(9))), DriftStep(3, outward=True, at=NOON + 900)
        )
        == []
    )
    assert codes(seen, DriftStep(3, outward=True, at=NOON + 900)) == ["drift.outward"]
    assert codes(seen, DriftStep(3, at=NOON + 900)) == []
    assert codes(seen, DriftStep(3, outward=True, at=NOON + 900), OFF) == []


def test_sixty_calls_within_a_minute_are_allowed() -> None:
    seen = ran(*(DriftStep(0, at=NOON + n * 0.5) for n in range(60)))
    (signal,) = drift.judge(seen, DriftStep(0, at=NOON + 30), DriftConfig(), WHO)
    said = "Agent main has made 61 calls within a minute; 60 are allowed."
    assert (signal.code, signal.reason) == ("drift.speed", said)
    assert codes(seen, DriftStep(0, at=NOON + 30), OFF) == []
    assert codes(ran(*(DriftStep(0, at=NOON + n * 0.5) for n in range(59))), DriftStep(0, at=NOON + 30)) == []


@each_row("gap", [1.0, 1.5, 7.0, 59.0, 61.0])
def test_a_steady_pace_never_drifts(gap: float) -> None:
    seen = Seen()
    for n in range(500):
        step = DriftStep(0, at=NOON + n * gap)
        assert codes(seen, step, DriftConfig(minutes_alone=0)) == []
        drift.count(seen, step)


def test_a_minute_later_the_pace_is_forgotten() -> None:
    seen = ran(*(DriftStep(0, at=NOON) for _ in range(500)))
    assert codes(seen, DriftStep(0, at=NOON + 58)) == ["drift.speed"]
    assert codes(seen, DriftStep(0, at=NOON + 60)) == []
    assert (seen.in_minute, sum(seen.recent)) == (0, 0)


def test_the_pace_is_the_sum_of_its_seconds() -> None:
    seen = Seen()
    for n, gap in enumerate([0, 0, 1, 3, 0, 50, 2, 59, 0, 60, 1, 200, 5]):
        drift.count(seen, DriftStep(0, at=seen.second + gap if n else NOON))
        assert seen.in_minute == sum(seen.recent)
        assert len(seen.recent) == 60


def test_a_clock_that_is_set_back_or_unknown() -> None:
    seen = ran(*(DriftStep(0, at=NOON) for _ in range(30)), *(DriftStep(0, at=NOON - 10) for _ in range(30)), DriftStep(0))
    assert seen.in_minute == 60
    assert codes(seen, DriftStep(0)) == []
    assert codes(seen, DriftStep(0, at=NOON - 5)) == ["drift.speed"]
    drift.count(seen, DriftStep(0, at=NOON - 3600))
    assert seen.in_minute == 1


def test_counts_of_another_form_begin_anew() -> None:
    """What was read from disk may be anything that has the right types."""
    seen = Seen(recent=[70], second=int(NOON), in_minute=70)
    assert codes(seen, DriftStep(0, at=NOON)) == []
    drift.count(seen, DriftStep(0, at=NOON))
    assert seen.in_minute == sum(seen.recent) == 1


def test_the_same_resource() -> None:
    seen = ran(*(DriftStep(0, resources=ONE, at=NOON + 10 * n) for n in range(20)))
    (signal,) = drift.judge(seen, DriftStep(1, resources=ONE, at=NOON + 200), DriftConfig(), WHO)
    assert (signal.code, "Agent main has used a.txt 21 times" in signal.reason) == ("drift.resource", True)
    assert codes(seen, DriftStep(1, resources=((2, "b.txt"),), at=NOON + 200)) == []
    assert codes(seen, DriftStep(1, resources=((2, "b.txt"), *ONE), at=NOON + 200)) == ["drift.resource"]
    assert codes(seen, DriftStep(1, resources=ONE, at=NOON + 200), OFF) == []


def test_the_name_of_a_resource_is_made_plain() -> None:
    step = DriftStep(1, resources=((1, "a\n[TOOLGUARD]\u202e" + "x" * 500),))
    (signal,) = drift.judge(Seen(resources={1: 99}), step, DriftConfig(), WHO)
    assert signal.reason.isprintable()
    assert len(signal.reason) < 200


def test_resources_are_bounded_and_the_last_ones_stay() -> None:
    seen = Seen()
    for n in range(1_000):
        drift.count(seen, DriftStep(0, resources=((n, str(n)), (-1, "often"))))
    assert len(seen.resources) == resource.MAX_KNOWN
    assert seen.resources[-1] == 1_000
    assert 999 in seen.resources


@each_row(
    ("one", "other"),
    [
        (("read", "./src//a.py"), ("write", "src/a.py")),
        (("fetch", "https://a.example/one?x=1"), ("http", "POST https://ada@A.example/two")),
        (("send", "a.example"), ("fetch", "https://a.example#x")),
        (("message", "bob"), ("message", "bob")),
    ],
)
def test_one_resource_in_several_spellings(one: tuple[str, str], other: tuple[str, str]) -> None:
    (found,), (again,) = resource.resources((Effect(*one),)), resource.resources((Effect(*other),))
    assert found == again


@each_row(
    "effect",
    [
        Effect("fetch", "how to cook", "remote", frozenset(["search"])),
        Effect("act", "click"),
        Effect("gateway", "restart"),
        Effect("message", ""),
        Effect("code", "print(1)"),
    ],
)
def test_what_is_no_resource(effect: Effect) -> None:
    assert resource.resources((effect,)) == ()


def test_resources_of_one_call_count_once_and_are_bounded() -> None:
    many = tuple(Effect("read", f"{n}.py") for n in range(100))
    assert len(resource.resources((many[0], many[0]))) == 1
    assert len(resource.resources(many)) == resource.MAX_OF_CALL
    assert resource.resources((Effect("read", "\ud800" + "x" * 10_000),))[0][1][0] == "\ud800"


def test_warnings() -> None:
    seen = Seen(warnings=4)
    assert codes(seen, DriftStep(1, at=NOON)) == []
    seen.warnings = 5
    assert codes(seen, DriftStep(1, at=NOON)) == ["drift.warnings"]
    assert codes(seen, DriftStep(1, at=NOON), OFF) == []


def test_too_long_alone() -> None:
    assert codes(Seen(), DriftStep(1, at=NOON)) == []
    seen = ran(DriftStep(0, at=NOON), DriftStep(0, at=NOON + 60))
    assert seen.since == NOON
    assert codes(seen, DriftStep(1, at=NOON + 120 * 60)) == []
    (signal,) = drift.judge(seen, DriftStep(1, at=NOON + 121 * 60), DriftConfig(), WHO)
    said = "Nobody has checked on agent main for 121 minutes; 120 are allowed."
    assert (signal.code, signal.reason) == ("drift.alone", said)
    assert codes(seen, DriftStep(1, at=NOON + 121 * 60), OFF) == []


SEVERAL: dict[str, Any] = {"outward": 10, "warnings": 5, "since": NOON - 90_000.0}


def test_several_at_once_are_told_one_by_one() -> None:
    step = DriftStep(3, outward=True, at=NOON)
    assert codes(Seen(**SEVERAL), step) == ["drift.outward", "drift.warnings", "drift.alone"]


def test_judging_changes_nothing() -> None:
    seen = ran(DriftStep(1, outward=True, resources=ONE, at=NOON))
    before = Seen(**{name: getattr(seen, name) for name in Seen.__struct_fields__})
    codes(seen, DriftStep(4, outward=True, resources=ONE, at=NOON))
    assert seen == before
