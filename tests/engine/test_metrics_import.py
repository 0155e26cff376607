"""The old plugin's metrics taken over: nothing counts twice, nothing is lost, nothing of the old is touched."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from effort import some
from engine_talk import PATIENCE
from toolguard_engine.metrics import importing, old_plugin, sources
from toolguard_engine.metrics.database import MetricsError, connect, transaction
from toolguard_engine.metrics.importing import Imported, OldMetrics, find, run, undo
from toolguard_engine.metrics.row_writer import CallRecord, record

fork = multiprocessing.get_context("fork")
HOUR = timedelta(hours=1)
NOON = datetime(2025, 6, 15, 12, tzinfo=UTC)

SCHEMA = """
    CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS usage_events (
        id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, gateway_id TEXT, channel TEXT, provider TEXT, model TEXT,
        session_key TEXT, session_id TEXT, input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER,
        cache_write_tokens INTEGER, prompt_tokens INTEGER, total_tokens INTEGER, cost_usd REAL, duration_ms INTEGER,
        context_limit INTEGER, context_used INTEGER
    );
    CREATE INDEX IF NOT EXISTS idx_usage_events_ts ON usage_events (ts);
    CREATE TABLE IF NOT EXISTS hourly_stats (
        hour TEXT NOT NULL, gateway_id TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
        event_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
        total_tokens INTEGER DEFAULT 0, cost_usd REAL DEFAULT 0, PRIMARY KEY (hour, gateway_id, model)
    );
    CREATE TABLE IF NOT EXISTS daily_stats (
        day TEXT NOT NULL, gateway_id TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
        event_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
        total_tokens INTEGER DEFAULT 0, cost_usd REAL DEFAULT 0, PRIMARY KEY (day, gateway_id, model)
    );
"""
MADE = "2025-06-01T00:00:00.000Z"


@dataclass(frozen=True)
class Old:
    """One event as the old plugin sees it; `more` are further columns."""

    at: datetime = NOON
    gateway: str | None = "home"
    model: str | None = "big"
    input: int | None = 10
    output: int | None = 5
    total: int | None = 15
    cost: float | None = 0.5
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def ts(self) -> str:
        return self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class OldFile:
    """A file that the old plugin writes: every event as a row, and in the sums of its hour and its day."""

    def __init__(self, path: Path, made: str = MADE) -> None:
        self.path = path
        self.do(SCHEMA)
        with self.opened() as connection:
            connection.execute("INSERT OR IGNORE INTO schema_version VALUES (1, ?)", (made,))

    def opened(self) -> closing[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        return closing(connection)

    def do(self, script: str) -> None:
        with self.opened() as connection:
            connection.executescript(script)

    def add(self, *events: Old) -> None:
        with self.opened() as connection:
            connection.execute("BEGIN")
            for one in events:
                values: dict[str, Any] = {
                    "ts": one.ts,
                    "gateway_id": one.gateway or "",
                    "model": one.model,
                    "input_tokens": one.input,
                }
                values |= {"output_tokens": one.output, "total_tokens": one.total, "cost_usd": one.cost, **one.more}
                self._put(connection, "usage_events", values)
                sums = (one.gateway or "", one.model or "", one.input or 0, one.output or 0, one.total or 0, one.cost or 0)
                for table, begins in (("hourly_stats", f"{one.ts[:13]}:00:00Z"), ("daily_stats", one.ts[:10])):
                    self._count(connection, table, begins, sums)
            connection.execute("COMMIT")

    def put(self, table: str, **values: Any) -> None:
        """A row that the old plugin itself would not write."""
        with self.opened() as connection:
            self._put(connection, table, values)

    def forget(self, table: str, before: datetime) -> None:
        """The old plugin's daily cleaning, with its VACUUM."""
        column = {"usage_events": "ts", "hourly_stats": "hour", "daily_stats": "day"}[table]
        with self.opened() as connection:
            connection.execute(f"DELETE FROM {table} WHERE {column} < ?", (Old(before).ts,))  # noqa: S608
            connection.execute("VACUUM")

    def dump(self) -> list[str]:
        """Everything in its tables."""
        with self.opened() as connection:
            return [line for line in connection.iterdump() if "toolguard_" not in line]

    @staticmethod
    def _put(connection: sqlite3.Connection, table: str, values: dict[str, Any]) -> None:
        places = ", ".join("?" * len(values))
        connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})", tuple(values.values()))  # noqa: S608

    @staticmethod
    def _count(connection: sqlite3.Connection, table: str, begins: str, sums: tuple[Any, ...]) -> None:
        connection.execute(
            f"INSERT INTO {table} VALUES (?, ?, ?, 1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "  # noqa: S608
            "event_count = event_count + 1, input_tokens = input_tokens + excluded.input_tokens, "
            "output_tokens = output_tokens + excluded.output_tokens, total_tokens = total_tokens + excluded.total_tokens, "
            "cost_usd = cost_usd + excluded.cost_usd",
            (begins, *sums),
        )


@pytest.fixture
def old(tmp_path: Path) -> OldFile:
    return OldFile(tmp_path / "old.db")


@pytest.fixture(params=["the same file", "another file"])
def new(request: pytest.FixtureRequest, old: OldFile, tmp_path: Path) -> Path:
    return old.path if request.param == "the same file" else tmp_path / "new.db"


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "CHUNK", 3)


def ask(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(connect(path)) as connection:
        return connection.execute(statement).fetchall()


def calls(path: Path) -> list[tuple[Any, ...]]:
    return ask(path, "SELECT * FROM toolguard_calls ORDER BY id")


def sums(path: Path, table: str) -> list[tuple[Any, ...]]:
    """Hours or days as the old plugin would tell them: begin, gateway, model, calls, input, output, total, cost."""
    columns = "at, gateway, model, sum(calls), sum(input), sum(output), sum(total), round(sum(cost_usd), 6)"
    return ask(path, f"SELECT {columns} FROM toolguard_{table} WHERE source > 1 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3")  # noqa: S608


def old_sums(old: OldFile, table: str) -> list[tuple[Any, ...]]:
    with old.opened() as connection:
        found = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()  # noqa: S608
    return [(ms(datetime.fromisoformat(row[0])), *row[1:-1], round(row[-1], 6)) for row in found]


def everything(path: Path) -> list[list[tuple[Any, ...]]]:
    tables = ("sources", "taken", "calls", "hours", "days", "sessions")
    return [sorted(ask(path, f"SELECT * FROM toolguard_{table}"), key=repr) for table in tables]  # noqa: S608


def ms(moment: datetime) -> int:
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000)


def assert_sums_as_told(old: OldFile, new: Path) -> None:
    assert sums(new, "hours") == old_sums(old, "hourly_stats")
    assert sums(new, "days") == old_sums(old, "daily_stats")


# What is there


def test_found(old: OldFile) -> None:
    assert find(old.path) == OldMetrics(0, 0, 0, None, None)
    old.add(Old(), Old(NOON + HOUR), Old(NOON - 48 * HOUR, model=None))
    assert find(old.path) == OldMetrics(3, 3, 2, ms(NOON.replace(hour=0) - 48 * HOUR), ms(NOON + HOUR))
    old.put("usage_events", ts="2099-01-01T00:00:00Z")
    old.put("usage_events", ts="20")
    old.put("usage_events", ts=b"2020-01-01")
    assert find(old.path) == OldMetrics(6, 3, 2, ms(NOON.replace(hour=0) - 48 * HOUR), ms(NOON + HOUR))


def nothing(path: Path) -> None:
    """No file at all."""


def empty(path: Path) -> None:
    path.touch()


def ours(path: Path) -> None:
    connect(path).close()


def no_hours(path: Path) -> None:
    OldFile(path).do("DROP TABLE hourly_stats")


def other_columns(path: Path) -> None:
    OldFile(path).do("ALTER TABLE usage_events RENAME COLUMN ts TO timestamp")


def view(path: Path) -> None:
    OldFile(path).do("ALTER TABLE usage_events RENAME TO events; CREATE VIEW usage_events AS SELECT * FROM events")


def computed(path: Path) -> None:
    added = "ALTER TABLE usage_events ADD COLUMN model TEXT AS (hex(zeroblob(100000000)))"
    OldFile(path).do(f"ALTER TABLE usage_events RENAME COLUMN model TO other; {added}")


NOT_THERE = {make.__name__: make for make in (nothing, empty, ours, no_hours, other_columns, view, computed)}


@pytest.mark.parametrize("make", NOT_THERE.values(), ids=NOT_THERE)
def test_not_found(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path, new = tmp_path / "old.db", tmp_path / "new.db"
    make(path)
    assert find(path) is None
    with pytest.raises(MetricsError) as refused:
        run(path, new)
    assert str(refused.value) == f"'{path}' holds no metrics of tool-guard"
    assert not new.exists()


def test_looking_leaves_nothing_behind(old: OldFile) -> None:
    old.add(Old())
    before = old.path.read_bytes()
    find(old.path)
    assert [file.name for file in old.path.parent.iterdir()] == ["old.db"]
    assert old.path.read_bytes() == before


def test_nothing_can_be_written_to_what_is_looked_at(old: OldFile) -> None:
    looked = old_plugin.look(old.path)
    assert looked is not None
    with closing(looked), pytest.raises(sqlite3.OperationalError, match="readonly"):
        looked._connection.execute("DELETE FROM usage_events")


def test_a_file_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    path.write_text("Dear diary")
    with pytest.raises(MetricsError, match="is not a SQLite database"):
        find(path)


# What is taken

FULL = Old(
    more={
        "channel": "telegram",
        "provider": "anthropic",
        "session_key": "agent:main:telegram:dm:7",
        "session_id": "0f3a",
        "cache_read_tokens": 3,
        "cache_write_tokens": 2,
        "duration_ms": 1_234,
        "prompt_tokens": 13,
        "context_limit": 200_000,
        "context_used": 13,
    },
)  # fmt: skip
BARE = Old(
    NOON + HOUR, gateway=None, model=None, input=None, output=None, total=None, cost=None, more={"session_id": "0f3b"}
)  # fmt: skip


def test_events_hours_and_days(old: OldFile, new: Path) -> None:
    old.add(FULL, BARE)
    assert run(old.path, new) == Imported(events=2, hours=0, days=0, skipped=0)
    at, later, day = ms(NOON), ms(NOON + HOUR), ms(NOON.replace(hour=0))
    reported = (
        "home",
        "main",
        "agent:main:telegram:dm:7",
        "telegram",
        "anthropic",
        "big",
        10,
        5,
        3,
        2,
        15,
        0.5,
        0,
        1_234,
        "",
        2,
    )
    bare = ("", "", "0f3b", "", "", "", 0, 0, 0, 0, 0, None, 0, None, "", 2)
    assert calls(new) == [(1, at, *reported), (2, later, *bare)]
    one = ("home", "big", "anthropic", "main", 2, 1, 0, 10, 5, 3, 2, 15, 1, 0.5, 0, 1, 1_234)
    none = ("", "", "", "", 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    assert everything(new)[3:5] == [[(at, *one), (later, *none)], [(day, *none), (day, *one)]]


def test_a_missing_total_is_the_sum(old: OldFile, new: Path) -> None:
    old.add(Old(total=None, more={"cache_read_tokens": 100}))
    run(old.path, new)
    assert ask(new, "SELECT input, output, cache_read, total FROM toolguard_calls") == [(10, 5, 100, 115)]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 6, 10])
def test_progress_is_told(old: OldFile, new: Path, count: int) -> None:
    old.add(*[Old(NOON + number * HOUR) for number in range(count)])
    reported: list[tuple[int, int]] = []
    assert run(old.path, new, lambda done, wanted: reported.append((done, wanted))).events == count
    assert reported[-1] == (count, count)
    assert [done for done, _ in reported] == [*range(3, count + 1, 3), count][: len(reported)]
    assert_sums_as_told(old, new)


# What is older than the events


@pytest.mark.usefixtures("small_chunks")
def test_hours_and_days_whose_events_are_gone(old: OldFile, new: Path) -> None:
    """The cleaning cuts anywhere: of one hour, and of one day, only a part of the events is left."""
    old.add(*[Old(NOON + number * HOUR / 3, model=f"model-{number % 2}", cost=abs(number)) for number in range(-300, 10)])
    old.forget("hourly_stats", NOON - 50 * HOUR)
    old.forget("usage_events", NOON - HOUR / 2)
    assert run(old.path, new) == Imported(events=11, hours=100, days=10, skipped=0)
    assert_sums_as_told(old, new)
    assert ask(new, "SELECT count(*) FROM toolguard_hours WHERE provider || agent <> ''") == [(0,)]


def test_an_hour_with_no_event_left(old: OldFile, new: Path) -> None:
    old.add(FULL, FULL)
    old.forget("usage_events", NOON + HOUR)
    assert run(old.path, new) == Imported(events=0, hours=1, days=1, skipped=0)
    known = ("home", "big", "", "", 2, 2, 0, 20, 10, 0, 0, 30, 2, 1.0, 0, 0, 0)
    assert everything(new)[1:5] == [[], [], [(ms(NOON), *known)], [(ms(NOON.replace(hour=0)), *known)]]


def test_sums_that_know_less_than_the_events_take_nothing_away(old: OldFile, new: Path) -> None:
    old.add(Old(), Old())
    old.do("UPDATE hourly_stats SET event_count = 1; UPDATE daily_stats SET event_count = 3, input_tokens = 1")
    assert run(old.path, new) == Imported(events=2, hours=0, days=1, skipped=0)
    at, day = ms(NOON), ms(NOON.replace(hour=0))
    assert sums(new, "hours") == [(at, "home", "big", 2, 20, 10, 30, 1.0)]
    assert sums(new, "days") == [(day, "home", "big", 3, 20, 10, 30, 1.0)]


# Again


def test_twice_is_once(old: OldFile, new: Path) -> None:
    old.add(*[Old(NOON + number * HOUR) for number in range(-30, 10)])
    old.forget("usage_events", NOON - HOUR)
    run(old.path, new)
    before = everything(new)
    assert run(old.path, new) == Imported(events=0, hours=0, days=0, skipped=0)
    assert everything(new) == before


def test_what_came_in_between_is_taken(old: OldFile, new: Path) -> None:
    old.add(*[Old(NOON + number * HOUR) for number in range(-30, 10)])
    old.forget("usage_events", NOON - HOUR)
    run(old.path, new)
    old.add(Old(NOON, model="small"), Old(NOON), Old(NOON + 20 * HOUR))
    assert run(old.path, new) == Imported(events=3, hours=0, days=0, skipped=0)
    assert_sums_as_told(old, new)


def test_what_came_and_went_in_between_is_taken(old: OldFile, new: Path) -> None:
    """Also the events that were taken are gone, from the old tables and, later, from ours."""
    old.add(*[Old(NOON + number * HOUR) for number in range(10)])
    run(old.path, new)
    old.add(*[Old(NOON + number * HOUR) for number in range(8, 20)])
    old.forget("usage_events", NOON + 15 * HOUR)
    with closing(connect(new)) as connection:
        connection.execute("DELETE FROM toolguard_calls")
    assert run(old.path, new) == Imported(events=5, hours=7, days=2, skipped=0)
    assert_sums_as_told(old, new)


def test_old_events_that_we_do_not_keep_any_more_are_not_taken_again(old: OldFile, new: Path) -> None:
    old.add(Old(), Old())
    run(old.path, new)
    with closing(connect(new)) as connection:
        connection.execute("DELETE FROM toolguard_calls")
    assert run(old.path, new) == Imported(0, 0, 0, 0)
    assert_sums_as_told(old, new)


def test_a_moved_or_copied_file_is_the_same(old: OldFile, tmp_path: Path) -> None:
    old.add(Old(), Old())
    run(old.path, tmp_path / "new.db")
    moved = OldFile(old.path.rename(tmp_path / "moved.db"))
    moved.add(Old())
    assert run(moved.path, tmp_path / "new.db") == Imported(1, 0, 0, 0)
    assert_sums_as_told(moved, tmp_path / "new.db")


def test_two_old_files_of_one_gateway_both_count(old: OldFile, tmp_path: Path) -> None:
    new, second = tmp_path / "new.db", OldFile(tmp_path / "second.db", made="2025-06-02T00:00:00.000Z")
    for one in (old, second):
        one.add(Old(NOON - HOUR), Old())
        one.forget("usage_events", NOON)
        assert run(one.path, new) == Imported(events=1, hours=1, days=1, skipped=0)
    at, day = ms(NOON), ms(NOON.replace(hour=0))
    hour = ("home", "big", 2, 20, 10, 30, 1.0)
    assert sums(new, "hours") == [(at - 3_600_000, *hour), (at, *hour)]
    assert sums(new, "days") == [(day, "home", "big", 4, 40, 20, 60, 2.0)]


def unsaid(old: OldFile) -> None:
    old.do("DELETE FROM schema_version")


def never_said(old: OldFile) -> None:
    old.do("DROP TABLE schema_version")


def said(old: OldFile) -> None:
    """All files say the same time."""


SAYINGS = {make.__name__: make for make in (said, unsaid, never_said)}


@pytest.fixture(params=list(SAYINGS.values()), ids=list(SAYINGS))
def say(request: pytest.FixtureRequest, old: OldFile) -> Callable[[OldFile], None]:
    """What files say of when they were made, which tells none of them apart."""
    make: Callable[[OldFile], None] = request.param
    make(old)
    return make


def hourly(first: int, end: int, **more: Any) -> list[Old]:
    return [Old(NOON + number * HOUR, **more) for number in range(first, end)]


def copied(old: OldFile, path: Path) -> OldFile:
    with old.opened() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(old.path, path)
    copy = object.__new__(OldFile)
    copy.path = path
    return copy


def total(path: Path) -> list[tuple[int, int, int]]:
    counted = (f"(SELECT sum(calls) FROM toolguard_{table} WHERE source > 1)" for table in ("hours", "days"))  # noqa: S608
    return ask(path, f"SELECT (SELECT count(*) FROM toolguard_calls WHERE source > 1), {', '.join(counted)}")  # noqa: S608


def test_two_files_that_say_the_same_both_count(old: OldFile, tmp_path: Path, say: Callable[[OldFile], None]) -> None:
    new, second = tmp_path / "new.db", OldFile(tmp_path / "second.db")
    say(second)
    old.add(*hourly(0, 10))
    second.add(*hourly(0, 20, gateway="work"))
    assert [run(one.path, new).events for one in (old, second, old, second)] == [10, 20, 0, 0]
    assert total(new) == [(30, 30, 30)]


def test_two_files_whose_events_are_gone_both_count(old: OldFile, tmp_path: Path, say: Callable[[OldFile], None]) -> None:
    new, second = tmp_path / "new.db", OldFile(tmp_path / "second.db")
    say(second)
    old.add(*hourly(-60, 0))
    second.add(*hourly(-70, 0), *hourly(-60, 0))
    for one in (old, second):
        one.forget("usage_events", NOON)
    assert [run(one.path, new).hours for one in (old, second, old, second)] == [60, 70, 0, 0]
    assert total(new) == [(0, 190, 190)]


@pytest.mark.usefixtures("say")
def test_a_file_whose_events_were_gone_goes_on_where_it_was_moved(old: OldFile, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    old.add(*hourly(-60, 0))
    run(old.path, new)
    moved = copied(old, tmp_path / "moved.db")
    moved.add(*hourly(0, 40))
    moved.forget("usage_events", NOON + 30 * HOUR)
    assert run(moved.path, new) == Imported(events=10, hours=30, days=2, skipped=0)
    assert_sums_as_told(moved, new)


@pytest.mark.usefixtures("say")
def test_a_moved_file_counts_once(old: OldFile, tmp_path: Path) -> None:
    old.add(*hourly(0, 10))
    run(old.path, tmp_path / "new.db")
    old.path.rename(tmp_path / "moved.db")
    assert run(tmp_path / "moved.db", tmp_path / "new.db") == Imported(0, 0, 0, 0)


def test_a_new_file_where_another_was_counts(old: OldFile, tmp_path: Path, say: Callable[[OldFile], None]) -> None:
    new = tmp_path / "new.db"
    old.add(*hourly(0, 10))
    run(old.path, new)
    old.path.unlink()
    second = OldFile(old.path)
    say(second)
    second.add(*hourly(20, 25))
    assert run(second.path, new) == Imported(5, 0, 0, 0)
    assert total(new) == [(15, 15, 15)]


@pytest.mark.usefixtures("small_chunks", "say")
@pytest.mark.parametrize("at", some([1, 3, 10, 40, 59]))
@pytest.mark.parametrize("cleaned", [False, True], ids=["with all events", "without the oldest"])
def test_a_copy_that_went_on_by_itself_loses_nothing_and_counts_once(
    old: OldFile, tmp_path: Path, at: int, *, cleaned: bool
) -> None:
    """What both have counts once, what one has alone counts too, also in the hour in which they parted."""
    new = tmp_path / "new.db"
    every = [Old(NOON + number * HOUR / 3) for number in range(60)]
    old.add(*every[:at])
    copy = copied(old, tmp_path / "copy.db")
    gone = at - 1 if cleaned else 0
    if cleaned:
        old.forget("usage_events", every[at - 1].at)
        copy.forget("usage_events", every[at - 1].at)
    old.add(*every[at:])
    copy.add(*[Old(one.at + HOUR / 60) for one in every[at:]], Old(NOON + 30 * HOUR))
    for _ in range(2):
        run(old.path, new)
        run(copy.path, new)
        assert total(new) == [(60 + 61 - at - gone, 60 + 61 - at, 60 + 61 - at)]
    copy.add(*hourly(40, 50))
    copy.forget("usage_events", NOON + 45 * HOUR)
    assert run(copy.path, new) == Imported(events=5, hours=5, days=1, skipped=0)
    assert total(new)[0][1:] == (131 - at, 131 - at)
    assert undo(new) > 0
    assert ask(new, "SELECT count(*) FROM toolguard_taken") == [(0,)]


@pytest.mark.usefixtures("say")
def test_an_older_copy_brings_nothing_and_takes_nothing_away(old: OldFile, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    old.add(*hourly(0, 10))
    copy = copied(old, tmp_path / "copy.db")
    old.add(*hourly(10, 20))
    run(old.path, new)
    before = everything(new)
    assert run(copy.path, new) == Imported(0, 0, 0, 0)
    assert everything(new) == before
    copy.add(*hourly(12, 14))
    assert run(copy.path, new) == Imported(2, 0, 0, 0)
    assert total(new) == [(22, 22, 22)]


def test_a_copy_is_known_though_an_import_without_events_is_there(old: OldFile, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    empty = OldFile(tmp_path / "empty.db")
    old.add(*hourly(0, 10))
    run(old.path, new)
    run(empty.path, new)
    with closing(connect(new)) as connection:
        connection.execute("INSERT INTO toolguard_sources (kind, made) VALUES (?, ?)", (sources.KIND, MADE))
    copy = copied(old, tmp_path / "copy.db")
    old.add(*hourly(10, 12))
    copy.add(*hourly(10, 13, model="small"))
    assert [run(one.path, new).events for one in (old, copy)] == [2, 3]
    assert total(new) == [(15, 15, 15)]


def test_an_import_that_another_one_overtakes_at_its_begin_gives_up(
    old: OldFile, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old.add(*hourly(0, 4))
    added = sources._known
    asked: list[None] = []

    def overtake(*args: Any) -> list[sources.ImportedDatabase]:
        asked.append(None)
        known = added(*args)
        if len(asked) == 1:
            run(old.path, new)
        return known

    monkeypatch.setattr(sources, "_known", overtake)
    with pytest.raises(MetricsError, match=GIVEN_UP):
        run(old.path, new)
    assert total(new) == [(4, 4, 4)]


# Side by side


def test_the_old_tables_stay_as_they_are(old: OldFile, new: Path) -> None:
    old.add(*[Old(NOON + number * HOUR) for number in range(-30, 10)])
    before = old.dump()
    run(old.path, new)
    assert old.dump() == before
    undo(new)
    assert old.dump() == before


def test_both_plugins_write_one_file(old: OldFile) -> None:
    old.add(Old())
    with closing(connect(old.path)) as connection, transaction(connection):
        record(connection, [CallRecord(ms(NOON), "home", model="big", total=7)])
    old.add(Old())
    run(old.path, old.path)
    before = everything(old.path)
    old.forget("usage_events", NOON + HOUR)
    OldFile(old.path).add(Old(NOON + HOUR))
    assert everything(old.path) == before
    assert run(old.path, old.path) == Imported(1, 0, 0, 0)
    assert ask(old.path, "SELECT source, sum(calls) FROM toolguard_days GROUP BY 1 ORDER BY 1") == [(1, 1), (2, 3)]


# Undone


@pytest.mark.usefixtures("small_chunks")
def test_undo_removes_what_was_imported_and_nothing_else(old: OldFile, tmp_path: Path) -> None:
    new, second = tmp_path / "new.db", OldFile(tmp_path / "second.db", made="2025-06-02T00:00:00.000Z")
    own = [CallRecord(ms(NOON), "home", model="big", total=7)] * 4
    with closing(connect(new)) as connection, transaction(connection):
        record(connection, own)
    before = everything(new)
    for one in (old, second):
        one.add(*[Old(NOON + number * HOUR) for number in range(-10, 2)])
        one.forget("usage_events", NOON)
        run(one.path, new)
    with_both = everything(new)
    assert undo(new) == 2 * (2 + 12 + 1)
    assert everything(new) == before
    assert undo(new) == 0
    for one in (old, second):
        run(one.path, new)
    assert everything(new) == with_both


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("again", ["import", "undo"])
def test_an_undo_that_was_killed_is_finished(old: OldFile, new: Path, again: str) -> None:
    old.add(*[Old(NOON + number * HOUR) for number in range(10)])
    run(old.path, new)
    complete = everything(new)
    with closing(connect(new)) as connection:
        connection.execute("UPDATE toolguard_sources SET made = NULL WHERE id = 2")
        connection.execute("DELETE FROM toolguard_calls WHERE id < 4")
    if again == "undo":
        undo(new)
        assert everything(new) == [[(1, "toolguard", "", 0, 0)], *[[]] * 5]
    run(old.path, new)
    assert everything(new) == complete


def test_undo_makes_nothing(tmp_path: Path, old: OldFile) -> None:
    assert undo(tmp_path / "new.db") == 0
    assert not (tmp_path / "new.db").exists()
    before = old.path.read_bytes()
    assert undo(old.path) == 0
    assert old.path.read_bytes() == before


# Rows that nobody should believe

HUGE = 2**63 - 1
AT = Old().ts
EVENTS: dict[str, tuple[dict[str, Any], bool]] = {
    "a text for a number": ({"ts": AT, "input_tokens": "many"}, False),
    "a number as a text": ({"ts": AT, "input_tokens": "12"}, True),
    "half a token": ({"ts": AT, "input_tokens": 1.5}, True),
    "a negative number": ({"ts": AT, "output_tokens": -1}, False),
    "a huge number": ({"ts": AT, "total_tokens": HUGE}, False),
    "an endless number": ({"ts": AT, "cache_read_tokens": float("inf")}, False),
    "bytes for a number": ({"ts": AT, "cache_write_tokens": b"12"}, False),
    "a negative cost": ({"ts": AT, "cost_usd": -0.01}, False),
    "an endless cost": ({"ts": AT, "cost_usd": float("-inf")}, False),
    "a text for a cost": ({"ts": AT, "cost_usd": "free"}, False),
    "a cost that is no number is none": ({"ts": AT, "cost_usd": float("nan")}, True),
    "an absurd duration": ({"ts": AT, "duration_ms": 10**12}, False),
    "a huge text for a number": ({"ts": AT, "input_tokens": "9" * 1_000_000}, False),
    "bytes for a name": ({"ts": AT, "model": b"\x00big"}, False),
    "a number for a name": ({"ts": AT, "model": 7}, True),
    "no time": ({"ts": ""}, False),
    "a time that is none": ({"ts": "yesterday"}, False),
    "bytes for a time": ({"ts": AT.encode()}, False),
    "a number for a time": ({"ts": 1_750_000_000_000}, False),
    "a huge text for a time": ({"ts": AT * 50_000}, False),
    "a time long ago": ({"ts": "1970-01-01T00:00:00Z"}, False),
    "a time far off": ({"ts": "2999-01-01T00:00:00Z"}, False),
    "a time before all time": ({"ts": "0001-01-01T00:00:00+23:59"}, False),
    "an impossible time": ({"ts": "2025-02-30T00:00:00Z"}, False),
    "a time in another zone": ({"ts": "2025-06-15T14:00:00+02:00"}, True),
    "a time without a zone": ({"ts": "2025-06-15T12:00:00"}, True),
    "an event that nobody counted": ({"ts": AT, "id": HUGE}, True),
}


@pytest.mark.parametrize(("values", "taken"), some([pytest.param(*row, id=name) for name, row in EVENTS.items()]))
def test_hostile_events(old: OldFile, tmp_path: Path, values: dict[str, Any], taken: bool) -> None:  # noqa: FBT001
    new = tmp_path / "new.db"
    old.add(Old(NOON - HOUR))
    old.put("usage_events", **{"model": "odd", **values})
    assert run(old.path, new) == Imported(events=1 + taken, hours=0, days=0, skipped=not taken)
    assert run(old.path, new) == Imported(0, 0, 0, 0)
    assert [at for (at,) in ask(new, "SELECT at FROM toolguard_calls ORDER BY 1")] == [ms(NOON - HOUR), ms(NOON)][
        : 1 + taken
    ]


SUMS: dict[str, tuple[dict[str, Any], bool]] = {
    "a text for a number": ({"event_count": "many"}, False),
    "no number": ({"event_count": None}, False),
    "a negative number": ({"event_count": 1, "input_tokens": -1}, False),
    "a huge number": ({"event_count": HUGE}, False),
    "bytes": ({"event_count": 1, "total_tokens": b"1"}, False),
    "an endless cost": ({"event_count": 1, "cost_usd": float("inf")}, False),
    "bytes for a name": ({"event_count": 1, "gateway_id": b"home"}, False),
    "nothing": ({"event_count": 0, "input_tokens": 10}, False),
    "something": ({"event_count": 1, "input_tokens": 10}, True),
    "no tokens": ({"event_count": 1, "input_tokens": None, "cost_usd": None}, True),
}
UNCOUNTED = {"no number", "nothing"}
"""They make sense, and say that there was no call."""


@pytest.mark.parametrize("name", SUMS)
def test_hostile_sums(old: OldFile, tmp_path: Path, name: str) -> None:
    new = tmp_path / "new.db"
    values, taken = SUMS[name]
    skipped = 0 if taken or name in UNCOUNTED else 2
    old.put("hourly_stats", hour="2025-06-15T12:00:00Z", **values)
    old.put("daily_stats", day="2025-06-15", **values)
    assert run(old.path, new) == Imported(events=0, hours=taken, days=taken, skipped=skipped)
    assert run(old.path, new) == Imported(events=0, hours=0, days=0, skipped=skipped)


@pytest.mark.parametrize("begins", ["", "never", "2999-01-01T00:00:00Z", "1999-01-01", "2025-06-15T12", None, b"2025-06-15"])
def test_hours_at_odd_times(old: OldFile, tmp_path: Path, begins: str | None) -> None:
    old.do("DROP TABLE hourly_stats; CREATE TABLE hourly_stats (hour, gateway_id, model, event_count, input_tokens,"
           "output_tokens, total_tokens, cost_usd)")  # fmt: skip
    old.put("hourly_stats", hour=begins, event_count=1)
    taken = begins == "2025-06-15T12"
    assert run(old.path, tmp_path / "new.db") == Imported(0, hours=taken, days=0, skipped=not taken)


def test_names_are_bounded_and_printable_and_otherwise_as_they_were(old: OldFile, new: Path) -> None:
    names = {
        "<script>alert(1)</script>": "<script>alert(1)</script>",
        "'); DROP TABLE toolguard_calls; --": "'); DROP TABLE toolguard_calls; --",
        "a\x1b[2Jb\nc\u202ed\x7fe": "a?[2Jb?c?d?e",
        "ein Gerät 🤖": "ein Gerät 🤖",
        "x" * 1_000_000: "x" * 200,
    }
    old.add(*[Old(gateway=name, model=name, more={"session_key": f"agent:{name}:main"}) for name in names])
    run(old.path, new)
    found = ask(new, "SELECT gateway, model, session, agent FROM toolguard_calls ORDER BY id")
    agents = [*list(names.values())[:-1], ""]
    clean = [f"agent:{name}:main"[:200] for name in names.values()]
    assert found == list(zip(names.values(), names.values(), clean, agents, strict=True))
    assert ask(new, "SELECT sum(calls) FROM toolguard_hours") == [(len(names),)]


def test_names_that_become_the_same_are_counted_together(old: OldFile, new: Path) -> None:
    old.add(*[Old(model="m" * 200 + end) for end in ("", "1", "2")], Old(model="a\nb"), Old(model="a\tb"))
    old.forget("usage_events", NOON + HOUR)
    old.add(Old(model="m" * 200 + "3"))
    assert run(old.path, new) == Imported(events=1, hours=2, days=2, skipped=0)
    assert [(model, count) for _, _, model, count, *_ in sums(new, "hours")] == [("a?b", 2), ("m" * 200, 4)]
    assert run(old.path, new) == Imported(0, 0, 0, 0)


def test_bytes_that_are_no_text(old: OldFile, new: Path) -> None:
    old.put("usage_events", ts=AT)
    old.do("UPDATE usage_events SET model = CAST(x'62ff67' AS TEXT)")
    assert run(old.path, new).events == 1
    assert ask(new, "SELECT model FROM toolguard_calls") == [("b\ufffdg",)]


def test_a_file_that_is_damaged_further_on(old: OldFile, tmp_path: Path) -> None:
    old.add(*[Old(NOON + number * HOUR / 60, more={"session_key": "s" * 500}) for number in range(4_000)])
    data = old.path.read_bytes()
    middle = len(data) // 2 // 4096 * 4096
    old.path.write_bytes(data[:middle] + b"\x42" * 4096 * 10 + data[middle + 4096 * 10 :])
    with pytest.raises(MetricsError) as refused:
        run(old.path, tmp_path / "new.db")
    assert str(refused.value) == f"'{old.path}' is damaged; move it away, or restore a copy of it"
    assert undo(tmp_path / "new.db") == 0
    assert everything(tmp_path / "new.db") == [[(1, "toolguard", "", 0, 0)], *[[]] * 5]


# Several processes, and some that are killed

MANY = 400
GIVEN_UP = "is being imported, or removed again, by another process; try again"

CHILD = f"""
import sys
from pathlib import Path
from toolguard_engine.metrics import database, importing
database.BUSY_SECONDS = {PATIENCE}
importing.CHUNK = 20
importing.run(Path(sys.argv[1]), Path(sys.argv[2]), lambda done, wanted: print(done, flush=True))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("chunks", [1, 2, 7, 20])
def test_a_killed_import_leaves_a_consistent_file_and_is_finished(old: OldFile, new: Path, chunks: int) -> None:
    old.add(*[Old(NOON + number * HOUR / 10, model=f"model-{number % 3}") for number in range(-300, MANY)])
    old.forget("usage_events", NOON)
    child = subprocess.Popen([sys.executable, "-c", CHILD, old.path, new], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child, child.stdout as reported:
        for _ in range(chunks):
            reported.readline()
        os.kill(child.pid, signal.SIGKILL)
    taken = len(calls(new))
    assert chunks * 20 <= taken
    assert ask(new, "SELECT last_event FROM toolguard_sources WHERE id = 2") == [(300 + taken,)]
    assert ask(new, "SELECT sum(calls) >= ? FROM toolguard_hours".replace("?", str(taken))) == [(1,)]
    assert run(old.path, new).events == MANY - taken
    assert len(calls(new)) == MANY
    assert_sums_as_told(old, new)


def import_all(old: Path, new: Path) -> None:
    run(old, new)


def remove_all(old: Path, new: Path) -> None:
    undo(new)


OVERTAKEN = {
    "by an import": (3, import_all, True),
    "by an import later": (6, import_all, True),
    "by an import after the last event": (8, import_all, False),
    "by an undo": (3, remove_all, True),
    "by an undo after the last event": (8, remove_all, True),
}


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(("at", "meanwhile", "gives_up"), OVERTAKEN.values(), ids=OVERTAKEN)
def test_overtaken(old: OldFile, new: Path, at: int, meanwhile: Callable[[Path, Path], None], gives_up: bool) -> None:  # noqa: FBT001
    """Another process imports everything, or removes everything, after this many events."""
    old.add(*[Old(NOON + number * HOUR) for number in range(-5, 8)])
    old.forget("usage_events", NOON)
    said = []

    def overtake(done: int, wanted: int) -> None:
        if done == at:
            meanwhile(old.path, new)

    try:
        run(old.path, new, overtake)
    except MetricsError as error:
        said.append(str(error))
    assert said == [f"'{old.path}' {GIVEN_UP}"] * gives_up
    run(old.path, new)
    assert len(calls(new)) == 8
    assert_sums_as_told(old, new)


def test_two_imports_at_once_take_everything_once(old: OldFile, new: Path) -> None:
    """One of them may give up, and says so; what the other leaves, the next run takes."""
    old.add(*[Old(NOON + number * HOUR / 10) for number in range(-300, MANY)])
    old.forget("usage_events", NOON)
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, old.path, new], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [racer.communicate()[1] for racer in racers]
    assert all(not words or GIVEN_UP in words.splitlines()[-1] for words in said)
    assert not all(said)
    run(old.path, new)
    assert len(calls(new)) == MANY
    assert_sums_as_told(old, new)


@pytest.mark.usefixtures("patient_locks")
def test_everybody_writes_meanwhile(old: OldFile) -> None:
    """Both plugins go on while the import runs, in one file."""
    old.add(*[Old(NOON + number * HOUR / 10) for number in range(MANY)])
    writers = [fork.Process(target=go_on, args=(old.path,)), fork.Process(target=go_on_as_before, args=(old.path,))]
    connect(old.path).close()
    for writer in writers:
        writer.start()
    for _ in range(4):
        run(old.path, old.path)
    for writer in writers:
        writer.join()
    run(old.path, old.path)
    assert [writer.exitcode for writer in writers] == [0, 0]
    counted = "SELECT source, sum(calls) FROM toolguard_hours GROUP BY 1 ORDER BY 1"
    assert ask(old.path, counted) == [(1, 100), (2, MANY + 100)]
    assert_sums_as_told(old, old.path)


def go_on(path: Path) -> None:
    with closing(connect(path)) as connection:
        for _ in range(100):
            with transaction(connection):
                record(connection, [CallRecord(ms(NOON), "home", model="big", total=1)])


def go_on_as_before(path: Path) -> None:
    old = OldFile(path)
    for _ in range(100):
        old.add(Old())
