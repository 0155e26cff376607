"""Which metrics files the dashboard reads, and which gateways it believes in."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from dashboard_stage import NAMES, OWN, Machine, machine

from toolguard_cli.dashboard import gateways, reading
from toolguard_cli.dashboard.security import Door
from toolguard_cli.dashboard.settings import Settings
from toolguard_cli.dashboard.visit import Site, Visit
from toolguard_engine.metrics import database, queries
from toolguard_engine.metrics.database import MetricsError

NOW = 1_800_000_000_000


def calls(path: Path) -> int:
    with reading.opened(path) as db:
        return queries.overview(db, "30d", NOW).totals.calls


def visit(made: Machine, name: str = OWN) -> Visit:
    return Visit(Site(Settings(made.db, made.places(name)), Door.at("127.0.0.1", 1, "")))


def test_no_file(tmp_path: Path) -> None:
    assert calls(tmp_path / "none" / "metrics.db") == 0
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "metrics.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE usage_events (id INTEGER)")
    before = path.read_bytes()
    assert calls(path) == 0
    assert path.read_bytes() == before


def test_an_older_file_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "metrics.db"
    with closing(sqlite3.connect(path)) as old:
        old.executescript(database.migrations()[0])
        old.execute("INSERT INTO toolguard_schema VALUES (1, 1)")
        old.commit()
    assert calls(path) == 0
    with closing(sqlite3.connect(path)) as now:
        assert now.execute("SELECT max(version) FROM toolguard_schema").fetchone() == (database.latest(),)


@pytest.mark.parametrize("content", [b"", b"no database" * 100])
def test_a_file_that_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "metrics.db"
    path.write_bytes(content)
    if content:
        with pytest.raises(MetricsError, match="is no SQLite database"):
            calls(path)
    else:
        assert calls(path) == 0


def test_nothing_is_written_through_it(tmp_path: Path) -> None:
    with reading.opened(machine(tmp_path).db) as db, pytest.raises(sqlite3.OperationalError, match="readonly"):
        db.execute("DELETE FROM toolguard_calls")


def test_gateways_that_cannot_be(tmp_path: Path) -> None:
    made = machine(tmp_path)
    rows = [("", "/a"), ("x" * 300, "/b"), ("relative", "state"), ("nul", "/a\0b"), ("long", "/" + "x" * 5_000)]
    with closing(database.connect(made.db)) as db:
        for name, state in rows:
            db.execute("INSERT INTO toolguard_gateways VALUES (?, ?, '', '', '', '', '', 1, 1, 0, '')", (name, state))
    assert [each.id for each in gateways.watched(visit(made))] == [*sorted(NAMES), OWN]


def test_the_one_that_it_was_started_for_may_record(tmp_path: Path) -> None:
    made = machine(tmp_path)
    assert [each.id for each in gateways.watched(visit(made, NAMES[1]))] == sorted(NAMES)


def test_two_of_one_name(tmp_path: Path) -> None:
    made = machine(tmp_path)
    with closing(database.connect(made.db)) as db:
        db.execute("UPDATE toolguard_gateways SET id = ? WHERE id = ?", (OWN, NAMES[0]))
    found = gateways.watched(visit(made))
    assert sorted(each.id for each in found) == sorted([OWN, NAMES[1], f"{OWN}-2"])
