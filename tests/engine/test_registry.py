"""Which gateways write into the metrics file, and under which name."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from toolguard_engine.config.settings import Retention
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.registry import GatewayFacts, claim, touch

fork = multiprocessing.get_context("fork")
HOME = GatewayFacts("home", "/a", "/a/openclaw.json", "/a/toolguard/nonces.json", "2026.9.6", "0.1.0", "enforce", 7)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "metrics.db")) as connection:
        yield connection


def rows(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT * FROM toolguard_gateways ORDER BY id").fetchall()


def test_a_gateway_is_known_by_its_state_directory(opened: sqlite3.Connection) -> None:
    assert claim(opened, HOME, 1) == "home"
    assert claim(opened, HOME._replace(name="renamed", mode="shadow", pid=8), 2, Retention(7, 8, 9)) == "home"
    assert rows(opened) == [
        ("home", "/a", "/a/openclaw.json", "/a/toolguard/nonces.json", "2026.9.6", "0.1.0", "shadow", 8, 2, 0, "", 7, 8, 9)
    ]


def test_one_name_never_means_two(opened: sqlite3.Connection) -> None:
    names = [claim(opened, HOME._replace(name=name, state_dir=name + str(n)), 1) for n in range(2) for name in ("x", "x-2")]
    assert names == ["x", "x-2", "x-3", "x-2-2"]
    assert claim(opened, HOME._replace(name="", state_dir="/b"), 1) == "gateway"
    assert claim(opened, HOME._replace(name="x", state_dir="x-20"), 1) == "x-2"


def test_an_engine_that_lives(opened: sqlite3.Connection) -> None:
    name = claim(opened, HOME, 10)
    opened.execute("UPDATE toolguard_gateways SET audit_seq = 4, audit_first = 'f'")
    for now in (20, 15):
        touch(opened, name, HOME._replace(pid=9), now)
        assert opened.execute("SELECT seen, pid, audit_seq, audit_first FROM toolguard_gateways").fetchall() == [
            (now, 9, 4, "f")
        ]


def test_an_engine_that_outlives_another_one_of_its_state_directory(opened: sqlite3.Connection) -> None:
    """As the gateway's does that of an agent's run beside it, which has settings of its own."""
    claim(opened, HOME, 1)
    name = claim(opened, HOME._replace(mode="shadow", pid=8), 2)
    touch(opened, name, HOME, 3)
    assert opened.execute("SELECT pid, mode, seen FROM toolguard_gateways").fetchall() == [(7, "enforce", 3)]


def test_names_that_play_tricks(opened: sqlite3.Connection) -> None:
    name = claim(opened, HOME._replace(name="a\x1b[2J\n'; DROP TABLE toolguard_gateways; --\ud83d" + "x" * 999), 1)
    assert name == "a?[2J?'; DROP TABLE toolguard_gateways; --?" + "x" * 157
    assert rows(opened)[0][0] == name


def take(path: Path, number: int) -> None:
    with closing(connect(path)) as connection:
        claim(connection, HOME._replace(state_dir=f"/{number}"), number)


@pytest.mark.usefixtures("patient_locks")
def test_several_at_once_get_names_of_their_own(tmp_path: Path) -> None:
    racers = [fork.Process(target=take, args=(tmp_path / "metrics.db", number)) for number in range(6)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert [racer.exitcode for racer in racers] == [0] * 6
    with closing(connect(tmp_path / "metrics.db")) as connection:
        assert {row[0] for row in rows(connection)} == {"home", *(f"home-{number}" for number in range(2, 7))}
