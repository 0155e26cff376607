"""What is too old goes, on time, once, in small pieces; and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.config.settings import Retention
from toolguard_engine.metrics import registry, retention
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.registry import GatewayFacts
from toolguard_engine.metrics.retention import claim, clean, is_due, removed_until, taken_since
from toolguard_engine.metrics.row_writer import DAY_MS, HOUR_MS, CallRecord, VerdictRecord, record, record_verdicts
from toolguard_engine.stores.transactions import transaction

KEPT = Retention(raw_days=30, hourly_days=90, daily_days=365)
NOW = int(datetime(2026, 9, 6, 10, 30, tzinfo=UTC).timestamp()) * 1_000
DUE = NOW - 6 * HOUR_MS - HOUR_MS // 2
"""04:00 of that day."""

TABLES = ("calls", "verdicts", "sessions", "hours", "verdict_hours", "days", "verdict_days")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.db"


@pytest.fixture
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path)) as connection:
        yield connection


def fill(connection: sqlite3.Connection, *days: float) -> None:
    """A call and a verdict so many days before now."""
    times = [NOW - int(age * DAY_MS) for age in days]
    with transaction(connection):
        record(connection, [CallRecord(at, "home", session="s", total=1) for at in times])
        record_verdicts(connection, [VerdictRecord(at, "home", kind="allow") for at in times])


def ages(connection: sqlite3.Connection, table: str) -> list[int]:
    """How many days ago each row is (sums: begins), the oldest first."""
    return [(NOW - at) // DAY_MS for (at,) in connection.execute(f"SELECT at FROM toolguard_{table} ORDER BY at")]  # noqa: S608


def left(connection: sqlite3.Connection) -> dict[str, list[int]]:
    return {table: ages(connection, table) for table in TABLES}


@each_row(
    ("last", "now", "due"),
    [
        (None, NOW, True),
        (DUE - 1, NOW, True),
        (DUE, NOW, False),
        (NOW - 1, NOW, False),
        (DUE - 1, DUE, True),
        (DUE - 1, DUE - 1, False),
        (DUE - DAY_MS, DUE - 1, False),
        (DUE - DAY_MS, DUE, True),
        (DUE - 40 * DAY_MS, NOW, True),
        (NOW + HOUR_MS, NOW, False),
        (NOW + 2 * DAY_MS, NOW, True),
    ],
    ids=[
        "never", "before four", "at four", "just now", "it strikes four", "right before four", "yesterday at four",
        "a day later", "down for long", "a clock put back", "a clock that was far ahead",
    ],
)  # fmt: skip
def test_when_it_is_due(last: int | None, now: int, *, due: bool) -> None:
    assert is_due(last, now) is due


@given(st.integers(0, 2**41), st.integers(0, DAY_MS * 3))
def test_it_is_due_once_between_two_fours(last: int, later: int) -> None:
    fours = (last + later - retention.DUE_MS) // DAY_MS - (last - retention.DUE_MS) // DAY_MS
    assert is_due(last, last + later) is (fours > 0)


def test_one_of_many_cleans(path: Path, opened: sqlite3.Connection) -> None:
    with closing(connect(path)) as other:
        assert (claim(opened, NOW), claim(other, NOW), claim(opened, NOW + 1)) == (True, False, False)
        assert list(clean(opened, KEPT, NOW)) == []
        assert (claim(opened, NOW + 1), claim(other, NOW + 1)) == (False, False)
        assert (claim(other, DUE + DAY_MS), claim(opened, DUE + DAY_MS)) == (True, False)
    assert dict(opened.execute("SELECT name, at FROM toolguard_upkeep")) == {
        "cleaned": NOW,
        "cleaning": DUE + DAY_MS,
        "raw": NOW - 30 * DAY_MS,
        "hours": NOW - 90 * DAY_MS,
        "days": NOW - 365 * DAY_MS,
    }


@pytest.mark.parametrize("later", [retention.CLAIM_MS, -1], ids=["ten minutes later", "a clock put back"])
def test_what_a_killed_process_left_the_next_one_removes(opened: sqlite3.Connection, later: int) -> None:
    fill(opened, 400, *[40] * 2_000, 0)
    assert claim(opened, NOW)
    assert next(clean(opened, KEPT, NOW)) == retention.CHUNK
    assert claim(opened, NOW + later)
    assert sum(clean(opened, KEPT, NOW + later)) > 2_000
    assert left(opened)["calls"] == [0]


def test_each_at_its_own_age(opened: sqlite3.Connection) -> None:
    fill(opened, 366, 364, 91, 89, 31, 29, 0)
    list(clean(opened, KEPT, NOW))
    assert left(opened) == {
        "calls": [29, 0],
        "verdicts": [29, 0],
        "sessions": [29, 0],
        "hours": [89, 31, 29, 0],
        "verdict_hours": [89, 31, 29, 0],
        "days": [364, 91, 89, 31, 29, 0],
        "verdict_days": [364, 91, 89, 31, 29, 0],
    }
    sums = "SELECT at, calls, total FROM toolguard_days"
    assert [row[1:] for row in opened.execute(sums)] == [(1, 1)] * 6


@pytest.mark.parametrize(("unseen", "kept"), [(29, [59, 31, 0]), (31, [0])], ids=["it is there", "it is gone"])
def test_the_gateway_that_keeps_longest_counts(opened: sqlite3.Connection, unseen: int, kept: list[int]) -> None:
    facts = GatewayFacts("long", "/long", "", "", "", "", "", 1)
    registry.claim(opened, facts, NOW - unseen * DAY_MS, Retention(60, 61, 62))
    registry.claim(opened, facts._replace(name="short", state_dir="/short"), NOW, Retention(1, 61, 62))
    fill(opened, 61, 59, 31, 0)
    list(clean(opened, KEPT, NOW))
    assert (ages(opened, "calls"), ages(opened, "sessions")) == (kept, kept)
    assert ages(opened, "days") == [61, 59, 31, 0]


WAS = {
    "less was kept before": ((0, 20), (0, 30), 20),
    "more was kept before": ((0, 40), (0, 30), 30),
    "a clock that was ahead": ((10, 30), (0, 30), 20),
    "a clock that was far ahead": ((400, 30), (0, 30), 30),
}


@pytest.mark.parametrize(("first", "second", "until"), WAS.values(), ids=WAS)
def test_what_was_removed_is_known(
    opened: sqlite3.Connection, first: tuple[int, int], second: tuple[int, int], until: int
) -> None:
    """It grows; but a moment that is still to come is of a clock that was wrong."""
    for ahead, days in (first, second):
        list(clean(opened, Retention(raw_days=days), NOW + ahead * DAY_MS))
    assert removed_until(opened, "raw", NOW) == NOW - until * DAY_MS
    assert taken_since(opened, Retention(raw_days=90), NOW) == NOW - until * DAY_MS
    assert taken_since(opened, Retention(raw_days=1), NOW) == NOW - DAY_MS


def test_it_is_known_before_anything_is_removed(opened: sqlite3.Connection) -> None:
    fill(opened, 40, 0)
    next(clean(opened, KEPT, NOW))
    assert removed_until(opened, "raw", NOW) == NOW - 30 * DAY_MS


def test_a_sum_stays_while_a_part_of_its_time_is_kept(opened: sqlite3.Connection) -> None:
    begins = NOW - NOW % DAY_MS - 365 * DAY_MS
    with transaction(opened):
        record(opened, [CallRecord(begins), CallRecord(begins - 1), CallRecord(NOW)])
    list(clean(opened, KEPT, NOW))
    assert [row[0] for row in opened.execute("SELECT at FROM toolguard_days ORDER BY at")] == [begins, NOW - NOW % DAY_MS]


def test_ids_only_grow(opened: sqlite3.Connection) -> None:
    fill(opened, 50, 40, 31)
    list(clean(opened, KEPT, NOW))
    assert opened.execute("SELECT id FROM toolguard_calls").fetchall() == [(3,)]
    fill(opened, 0)
    list(clean(opened, KEPT, NOW))
    assert opened.execute("SELECT id FROM toolguard_calls").fetchall() == [(4,)]
    assert opened.execute("SELECT sum(calls) FROM toolguard_days").fetchall() == [(4,)]


def test_a_clock_that_is_far_behind_removes_nothing(opened: sqlite3.Connection) -> None:
    fill(opened, 31, 0)
    before = left(opened)
    list(clean(opened, KEPT, 0))
    assert left(opened) == before


def test_what_importing_needs_stays(opened: sqlite3.Connection) -> None:
    fill(opened, 400, 0)
    opened.execute("INSERT INTO toolguard_sources VALUES (2, 'tool-guard', 'x', 9, 0)")
    opened.execute("INSERT INTO toolguard_taken VALUES (2, 9, 5)")
    list(clean(opened, KEPT, NOW))
    assert opened.execute("SELECT count(*) FROM toolguard_taken").fetchone() == (1,)
    assert opened.execute("SELECT count(*) FROM toolguard_sources").fetchone() == (2,)


def test_between_two_pieces_others_write(path: Path, opened: sqlite3.Connection) -> None:
    fill(opened, *[40] * 3_000, 0)
    with closing(connect(path)) as other:
        other.execute("PRAGMA busy_timeout = 0")
        for removed in clean(opened, KEPT, NOW):
            assert removed <= retention.CHUNK
            with transaction(other):
                record(other, [CallRecord(NOW)])
    assert set(left(opened)["calls"]) == {0}
    assert opened.execute("SELECT sum(calls) FROM toolguard_hours").fetchone() == (3_001 + len(left(opened)["calls"]) - 1,)
