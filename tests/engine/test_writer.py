"""One gateway's writer, round by round, with a clock of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.config.settings import Retention
from toolguard_engine.metrics import database, registry, writer
from toolguard_engine.metrics.backlog import Backlog
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.registry import USUAL, GatewayFacts
from toolguard_engine.metrics.row_writer import DAY_MS, CallRecord, VerdictRecord
from toolguard_engine.metrics.steady_clock import STEADY_MS
from toolguard_engine.metrics.writer import AFTER_TROUBLE, ALIVE_MS, EVERY, PATIENCE_MS, WHILE_CLEANING, Writer
from toolguard_engine.stores.files import audit_log_file as audit_log

NOW = 1_780_000_000_000


class Stage:
    """A writer, what it says, and what is in the file. `ahead`: the clock, by how many milliseconds."""

    def __init__(
        self,
        folder: Path,
        price: Callable[[CallRecord], CallRecord] = lambda call: call,
        name: str = "home",
        kept: Retention = USUAL,
    ) -> None:
        self.path = folder / "metrics.db"
        self.state = folder if name == "home" else folder / name
        self.time, self.ahead = NOW, 0
        self.backlog = Backlog(10)
        self.said: list[str] = []
        facts = GatewayFacts(name, str(self.state), "", "", "", "", "", 7)
        self.writer = Writer(self.path, facts, kept, self.backlog, price, self.said.append, self.ticks)

    def rows(self, what: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as connection:
            return connection.execute(what).fetchall()

    def ticks(self) -> int:
        return self.time * 1_000_000

    def round(self, now: int = NOW) -> float:
        """`now`: by a clock that goes right."""
        self.time = now
        return self.writer.round(now + self.ahead)

    def clean(self, now: int = NOW) -> None:
        """Until nothing is left to do that can be done by then."""
        self.round(now - STEADY_MS)
        while self.round(now) != EVERY:
            pass

    @property
    def calls(self) -> list[int]:
        return [at - NOW for (at,) in self.rows("SELECT at FROM toolguard_calls ORDER BY id")]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    stage.round()
    stage.round()
    yield stage
    stage.writer.close()


def test_rows_get_the_name_that_the_gateway_has_here(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "metrics.db")) as connection:
        registry.claim(connection, GatewayFacts("home", "/other", "", "", "", "", "", 1), NOW)
    stage = Stage(tmp_path)
    stage.backlog.add([CallRecord(NOW, model="m"), VerdictRecord(NOW, kind="allow")])
    stage.round()
    assert stage.rows("SELECT gateway FROM toolguard_calls UNION ALL SELECT gateway FROM toolguard_verdicts") == [
        ("home-2",),
        ("home-2",),
    ]
    stage.writer.close()


def test_prices_are_asked_where_nobody_waits(tmp_path: Path) -> None:
    stage = Stage(tmp_path, lambda call: call._replace(cost_usd=0.5, cost_estimated=1))
    stage.backlog.add([CallRecord(NOW)])
    stage.round()
    assert stage.rows("SELECT cost_usd, estimated_usd FROM toolguard_days") == [(0.5, 0.5)]
    stage.writer.close()


def test_more_than_a_batch_is_written_at_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "BATCH", 4)
    stage.backlog.add([CallRecord(NOW + number) for number in range(10)])
    assert [stage.round(), stage.round(), stage.round()] == [0, 0, EVERY]
    assert stage.calls == [*range(10)]


@pytest.mark.parametrize(("later", "seen"), [(ALIVE_MS - 1, 0), (ALIVE_MS, ALIVE_MS), (-1, -1)])
def test_it_is_said_that_the_engine_lives(stage: Stage, later: int, seen: int) -> None:
    """Not at every round; at once where the clock was put back."""
    stage.round(NOW + later)
    assert stage.rows("SELECT seen FROM toolguard_gateways") == [(NOW + seen,)]


def test_a_file_that_is_held_is_waited_for_and_told_late(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.01)
    stage.writer.close()
    stage.backlog.add([CallRecord(NOW)])
    with closing(sqlite3.connect(stage.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert (stage.round(), stage.round(NOW + PATIENCE_MS - 1), stage.said) == (EVERY, EVERY, [])
        assert stage.round(NOW + PATIENCE_MS) == EVERY
        assert stage.said == [
            (
                f"metrics: '{stage.path}' is locked by another process; "
                "check whether one of your processes hangs, then try again"
            )
        ]
    stage.round(NOW + PATIENCE_MS + 1)
    assert stage.calls == [0]


def test_what_is_lost_is_told_and_counted(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.path.mkdir()
    stage.backlog.add([CallRecord(NOW + number) for number in range(13)])
    assert [stage.round(), stage.round()] == [AFTER_TROUBLE] * 2
    stage.path.rmdir()
    stage.round()
    assert stage.calls == [*range(3, 13)]
    broken = f"metrics: '{stage.path}' is not a file; name another one in metrics.dbPath"
    assert stage.said == [
        broken,
        "metrics: nothing can be written, and too much is waiting: the oldest model calls and verdicts are lost",
        broken,
        "metrics are written again; model calls and verdicts that were lost: 3",
    ]
    stage.writer.close()


def test_a_fault_of_ours_costs_its_rows_and_no_more(tmp_path: Path) -> None:
    def price(call: CallRecord) -> CallRecord:
        return call._replace(total=1 // call.input)

    stage = Stage(tmp_path, price)
    stage.backlog.add([CallRecord(NOW)])
    with pytest.raises(ZeroDivisionError):
        stage.round()
    stage.backlog.add([CallRecord(NOW + 1, input=1)])
    stage.round()
    assert (stage.calls, stage.said) == ([1], ["metrics are written again; model calls and verdicts that were lost: 1"])
    stage.writer.close()


def test_an_audit_log_that_cannot_be_read_keeps_no_call_from_being_written(stage: Stage, tmp_path: Path) -> None:
    log = audit_log.AuditLog(tmp_path)
    log.append([audit_log.AuditEvent("id", audit_log.when(NOW / 1000), "hold")])
    stage.backlog.add([CallRecord(NOW)])
    folder = log.path.parent
    folder.rename(tmp_path / "away")
    stage.round()
    assert (stage.calls, stage.said) == ([0], [])
    (tmp_path / "away").rename(folder)
    while stage.round() == 0:
        pass
    assert stage.rows("SELECT kind FROM toolguard_verdicts") == [("hold",)]


def test_it_cleans_at_four_and_goes_on_writing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolguard_engine.metrics.retention.CHUNK", 1)
    stage.clean()
    stage.backlog.add([CallRecord(NOW - 40 * DAY_MS), CallRecord(NOW - 40 * DAY_MS), CallRecord(NOW)])
    assert stage.round() == EVERY
    later = NOW + DAY_MS
    paces = [stage.round(later)]
    stage.backlog.add([CallRecord(later)])
    while paces[-1] != EVERY:
        paces.append(stage.round(later))
    assert set(paces) == {WHILE_CLEANING, EVERY}
    assert stage.calls == [0, DAY_MS]


@pytest.mark.parametrize("since", [0, STEADY_MS - 1], ids=["right after it", "for almost ten minutes"])
def test_a_clock_that_is_wrong_removes_nothing(stage: Stage, since: int) -> None:
    stage.backlog.add([CallRecord(NOW), CallRecord(NOW)])
    stage.clean()
    stage.ahead = 400 * DAY_MS
    stage.round(NOW + 1)
    stage.round(NOW + 1 + since)
    stage.ahead = 0
    stage.clean(NOW + DAY_MS)
    assert stage.calls == [0, 0]
    assert stage.rows("SELECT sum(calls) FROM toolguard_days") == [(2,)]


def test_the_gateway_that_keeps_longest_counts_and_nothing_comes_twice(tmp_path: Path) -> None:
    """A file of two gateways: what one removed, the other does not take from its log again, whatever becomes of the log."""
    short, long = Stage(tmp_path, name="short", kept=Retention(raw_days=1)), Stage(tmp_path, kept=Retention(raw_days=10))
    log = audit_log.AuditLog(long.state)
    log.append(
        [audit_log.AuditEvent(f"id-{age}", audit_log.when(NOW / 1000 - age * 86_400), "hold") for age in (9, 8, 7, 6, 0)]
    )
    long.clean()
    short.clean(NOW + DAY_MS)
    assert ages(long) == [9, 8, 7, 6, 0]
    short.clean(NOW + 40 * DAY_MS)
    assert ages(long) == [0]
    assert long.rows("SELECT sum(verdicts) FROM toolguard_verdict_days") == [(5,)]
    long.writer._kept = Retention(raw_days=60)
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join(lines[1:]))
    long.clean(NOW + 40 * DAY_MS)
    assert long.rows("SELECT sum(verdicts) FROM toolguard_verdict_days") == [(5,)]
    for one in (short, long):
        one.writer.close()


def ages(stage: Stage) -> list[int]:
    return [(NOW - at) // DAY_MS for (at,) in stage.rows("SELECT at FROM toolguard_verdicts ORDER BY at")]


def test_a_clock_that_was_wrong(stage: Stage) -> None:
    stage.backlog.add([CallRecord(NOW + 3_000 * DAY_MS), CallRecord(-5), CallRecord(NOW + DAY_MS)])
    stage.round()
    assert stage.calls == [0, 0, DAY_MS]


def test_facts_that_changed(stage: Stage, tmp_path: Path) -> None:
    other = Stage(tmp_path)
    other.writer._facts = other.writer._facts._replace(mode="shadow")
    other.round()
    assert stage.rows("SELECT id, mode FROM toolguard_gateways") == [("home", "shadow")]
    other.writer.close()
