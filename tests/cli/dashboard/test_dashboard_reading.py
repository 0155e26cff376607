"""Which metrics files the dashboard reads, and which gateways it believes in."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from dashboard_stage import NAMES, OWN, Machine, machine

from toolguard_cli.dashboard import known_gateways, metrics_file
from toolguard_cli.dashboard.request_context import RequestContext, Site
from toolguard_cli.dashboard.security import AccessPolicy
from toolguard_cli.dashboard.server_settings import DashboardSettings
from toolguard_engine.metrics import database, queries
from toolguard_engine.metrics.database import MetricsError
from toolguard_engine.stores.files import engine_files as engines

NOW = 1_800_000_000_000


def calls(path: Path) -> int:
    with metrics_file.opened(path) as db:
        return queries.overview(db, "30d", NOW).totals.calls


def visit(made: Machine, name: str = OWN) -> RequestContext:
    return RequestContext(Site(DashboardSettings(made.db, made.places(name)), AccessPolicy.make("127.0.0.1", 1, str)))


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
        with pytest.raises(MetricsError, match="is not a SQLite database"):
            calls(path)
    else:
        assert calls(path) == 0


def test_nothing_is_written_through_it(tmp_path: Path) -> None:
    with metrics_file.opened(machine(tmp_path).db) as db, pytest.raises(sqlite3.OperationalError, match="readonly"):
        db.execute("DELETE FROM toolguard_calls")


def test_gateways_that_cannot_be(tmp_path: Path) -> None:
    made = machine(tmp_path)
    rows = [("", "/a"), ("x" * 300, "/b"), ("relative", "state"), ("nul", "/a\0b"), ("long", "/" + "x" * 5_000)]
    with closing(database.connect(made.db)) as db:
        for name, state in rows:
            db.execute(
                "INSERT INTO toolguard_gateways VALUES (?, ?, '', '', '', '', '', 1, 1, 0, '', 1, 1, 1)", (name, state)
            )
    assert [each.id for each in known_gateways.watched(visit(made))[0]] == [*sorted(NAMES), OWN]


def test_the_one_that_it_was_started_for_may_record(tmp_path: Path) -> None:
    made = machine(tmp_path)
    assert [each.id for each in known_gateways.watched(visit(made, NAMES[1]))[0]] == sorted(NAMES)


def test_two_of_one_name(tmp_path: Path) -> None:
    made = machine(tmp_path)
    with closing(database.connect(made.db)) as db:
        db.execute("UPDATE toolguard_gateways SET id = ? WHERE id = ?", (OWN, NAMES[0]))
    found, _ = known_gateways.watched(visit(made))
    assert sorted(each.id for each in found) == sorted([OWN, NAMES[1], f"{OWN}-2"])


def names(visited: RequestContext) -> list[str]:
    return sorted(each.id for each in known_gateways.watched(visited)[0])


@pytest.mark.parametrize("what", ["moved", "damaged", "replaced", "another"])
def test_what_happens_to_the_file_takes_no_gateway_out_of_sight(tmp_path: Path, what: str) -> None:
    made = machine(tmp_path)
    visited = visit(made)
    before = known_gateways.watched(visited)[0]
    made.db.rename(made.db.with_name("moved.db"))
    for beside in made.db.parent.glob("metrics.db-*"):
        beside.unlink()
    if what == "damaged":
        made.db.write_bytes(b"garbage" * 1_000)
    elif what != "moved":
        with closing(database.connect(made.db)) as db:
            row = (OWN, str(tmp_path / "another"))
            if what == "another":
                db.execute("INSERT INTO toolguard_gateways VALUES (?, ?, '', '', '', '', '', 1, 1, 0, '', 1, 1, 1)", row)
    found, problems = known_gateways.watched(visited)
    kept = [each for each in found if each.places.state_dir != tmp_path / "another"]
    assert [(each.places, each.known) for each in kept] == [(each.places, each.known) for each in before]
    renamed = f"{OWN}-2" if what == "another" else OWN
    assert sorted(each.id for each in kept) == sorted([*NAMES, renamed])
    assert len({each.id for each in found}) == len(found)
    assert len(problems) == 1
    assert "metrics.db" in problems[0]


def test_a_gateway_that_moved_on_is_not_remembered(tmp_path: Path) -> None:
    made = machine(tmp_path)
    visited = visit(made)
    assert names(visited) == sorted([*NAMES, OWN])
    with closing(database.connect(made.db)) as db:
        db.execute("UPDATE toolguard_gateways SET id = 'renamed' WHERE id = ?", (NAMES[0],))
        db.execute("DELETE FROM toolguard_gateways WHERE id = ?", (NAMES[1],))
    made.places(NAMES[1]).state_dir.rename(tmp_path / "away")
    assert names(visited) == sorted(["renamed", OWN])
    assert known_gateways.watched(visited)[1] == []


def test_the_own_name_stays(tmp_path: Path) -> None:
    made = machine(tmp_path)
    visited = visit(made)
    made.db.rename(made.db.with_name("moved.db"))
    assert names(visited) == [OWN]
    info = engines.EngineInfo(os.getpid(), 1, "another", "2026.9.6", "0.1.0", "0.1.0", 1.5, "enforce", "/log")
    engines.publish(made.places(OWN).state_dir, info)
    assert names(visited) == [OWN]


def test_the_own_settings_are_those_that_were_named(tmp_path: Path) -> None:
    made = machine(tmp_path)
    with closing(database.connect(made.db)) as db:
        db.execute("UPDATE toolguard_gateways SET config_path = '/elsewhere/openclaw.json'")
    known = {each.id: each.places.config for each in known_gateways.watched(visit(made, NAMES[0]))[0]}
    assert known == {NAMES[0]: made.places(NAMES[0]).config, NAMES[1]: Path("/elsewhere/openclaw.json")}
