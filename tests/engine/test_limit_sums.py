"""The sums of the limits as the metrics thread reads them: several engines on one file, the clock, the file in trouble."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.config.settings import Retention, parse
from toolguard_engine.config.spending_limits import DAY_MS, SpendingCap, caps
from toolguard_engine.metrics import database
from toolguard_engine.metrics.backlog import Backlog
from toolguard_engine.metrics.limit_sums import LimitSums, PeriodClock
from toolguard_engine.metrics.registry import GatewayFacts
from toolguard_engine.metrics.row_writer import CallRecord, VerdictRecord
from toolguard_engine.metrics.steady_clock import STEADY_MS
from toolguard_engine.metrics.writer import Writer

NOW = 20_000 * DAY_MS + DAY_MS // 2
DAY_USD = {"per": "day", "usd": 10}
OF_SESSION = {"per": "session", "tokens": 10}


def limits(*given: dict[str, Any]) -> tuple[SpendingCap, ...]:
    return caps(parse({"limits": list(given)}).limits)


class Engine:
    """The metrics of one engine, without its thread: `round` is one round of work."""

    def __init__(self, path: Path, name: str, *given: dict[str, Any]) -> None:
        self.backlog = Backlog[CallRecord | VerdictRecord](100)
        facts = GatewayFacts(name, str(path.parent / name), "", "", "", "", "enforce", 1)
        self.ticks = 0
        self.said: list[str] = []
        self.writer = Writer(
            path, facts, Retention(), self.backlog, lambda call: call, self.said.append, lambda: self.ticks * 1_000_000
        )
        self.sums = self.writer.sums = LimitSums(limits(*given))

    def uses(self, usd: float, at: int = NOW, session: str = "s", tokens: int = 0) -> None:
        self.backlog.add([CallRecord(at, agent="main", session=session, model="m", total=tokens, cost_usd=usd)])

    def round(self, now: int = NOW) -> dict[str, float]:
        self.ticks += 1_000
        self.writer.round(now)
        assert self.sums.latest is not None
        return dict(self.sums.latest.amounts)

    def warned(self) -> list[str]:
        return [
            f"{near.cap.key} {near.session}".strip() for near in (self.sums.near.popleft() for _ in list(self.sums.near))
        ]


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[list[Engine]]:
    with ExitStack() as stack:
        made = [Engine(tmp_path / "m.db", name, DAY_USD, OF_SESSION) for name in ("one", "two")]
        for each in made:
            stack.callback(each.writer.close)
        yield made


def test_engines_share_the_sums_and_one_of_them_warns(engines: list[Engine]) -> None:
    one, two = engines
    one.uses(7.0)
    assert one.round() == {"usd per day": 7}
    assert two.round() == {"usd per day": 7}
    two.uses(1.5)
    assert (two.round(), one.round()) == ({"usd per day": 8.5}, {"usd per day": 8.5})
    assert (one.warned(), two.warned()) == ([], ["usd per day"])
    for _ in range(3):
        assert one.round() == two.round() == {"usd per day": 8.5}
    assert one.warned() + two.warned() == []
    one.uses(1.0, at=NOW + DAY_MS)
    one.ticks += DAY_MS
    assert one.round(NOW + DAY_MS) == {"usd per day": 1}


def test_a_session_is_that_of_its_own_gateway(engines: list[Engine]) -> None:
    one, two = engines
    one.uses(0, tokens=8)
    two.uses(0, tokens=3)
    one.round()
    two.round()
    assert [dict(each.sums.latest.sessions["tokens per session"]) for each in engines if each.sums.latest] == [
        {"s": 8},
        {"s": 3},
    ]
    assert one.warned() == ["tokens per session s"]


def test_a_warning_is_given_again_for_a_raised_limit_and_after_a_restart_is_not(
    engines: list[Engine], tmp_path: Path
) -> None:
    one, _ = engines
    one.uses(9.0)
    one.round()
    assert one.warned() == ["usd per day"]
    again = Engine(tmp_path / "m.db", "one", DAY_USD)
    raised = Engine(tmp_path / "m.db", "one", {"per": "day", "usd": 11})
    for each, expected in ((again, []), (raised, ["usd per day"])):
        with closing(each.writer):
            each.uses(0.1)
            each.round()
            assert each.warned() == expected


def test_a_file_that_is_held_or_unusable_gives_the_period_alone(engines: list[Engine], tmp_path: Path) -> None:
    one, _ = engines
    one.uses(1.0)
    one.round()
    with closing(database.connect(tmp_path / "m.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        one.uses(2.0)
        one.writer._connection.execute("PRAGMA busy_timeout = 1")  # type: ignore[union-attr]
        one.round()
        latest = one.sums.latest
        assert latest is not None
        assert (latest.is_read, latest.passed) == (False, 1)
        other.execute("ROLLBACK")
    assert one.round() == {"usd per day": 3}
    one.writer.close()
    (tmp_path / "m.db").write_bytes(b"no database" * 1_000)
    assert one.round() == {}
    assert one.said
    assert one.sums.latest is not None
    assert one.sums.latest.begins["day"] == 20_000 * DAY_MS


DAY = {"steady": (1, 1), "ahead": (8 * DAY_MS, 1_000), "asleep": (DAY_MS, 1_000), "back": (-8 * DAY_MS, 1_000)}


@each_row(("now", "ticks"), DAY.values(), ids=DAY)
def test_another_period_begins_only_by_a_clock_that_runs_evenly(now: int, ticks: int) -> None:
    clock = PeriodClock()
    assert clock.reckon(NOW, 0) == NOW
    is_even = abs(now - ticks) < DAY_MS / 2
    assert clock.reckon(NOW + now, ticks) == (NOW + now if is_even else NOW)
    later = STEADY_MS - 1
    assert clock.reckon(NOW + now + later, ticks + later) == (NOW + now + later if is_even else NOW)
    assert clock.reckon(NOW + now + STEADY_MS, ticks + STEADY_MS) == NOW + now + STEADY_MS


@given(st.lists(st.tuples(st.just(0) | st.integers(61_000, DAY_MS) | st.integers(-DAY_MS, -61_000), st.integers(0, 10**6))))
def test_the_moment_in_force_was_seen_after_ten_even_minutes(steps: list[tuple[int, int]]) -> None:
    """Or before the first jump."""
    clock, now, ticks, since, jumped = PeriodClock(), NOW, 0, 0, False
    clock.reckon(now, ticks)
    before = now
    for jump, passed in steps:
        now, ticks = now + passed + jump, ticks + passed
        if jump:
            since, jumped = ticks, True
        found = clock.reckon(now, ticks)
        if found != before:
            assert found == now
            assert not jumped or ticks - since >= STEADY_MS
        before = found
