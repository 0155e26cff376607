"""The connections of the fleet dashboard: one slow question refuses nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fleet_database import FleetDatabase
from toolguard_fleet import page_database
from toolguard_fleet.fleet_errors import BusyError, UnreachableError
from toolguard_fleet.page_database import PageDatabase

SLOW = "SELECT 1 FROM pg_sleep(600)"
QUICK = "SELECT pg_backend_pid()"


@pytest.fixture
def limited(database: FleetDatabase) -> Iterator[PageDatabase]:
    """The server ends a question after two seconds."""
    with PageDatabase(f"{database.dsn('toolguard_page')} options='-c statement_timeout=2000'") as made:
        yield made


def test_a_question_that_the_server_ended_costs_no_connection(limited: PageDatabase) -> None:
    before = limited.ask(QUICK, (), int)
    with pytest.raises(BusyError) as busy:
        limited.ask(SLOW, (), int)
    assert busy.value.code == "57014"
    assert limited.ask(QUICK, (), int) == before


def test_many_slow_questions_refuse_no_other(limited: PageDatabase) -> None:
    def slow(_: int) -> str:
        with pytest.raises(BusyError) as busy:
            limited.ask(SLOW, (), int)
        return busy.value.code

    with ThreadPoolExecutor(page_database.CONNECTIONS) as pool:
        assert set(pool.map(slow, range(page_database.CONNECTIONS))) == {"57014"}
    for _ in range(page_database.CONNECTIONS):
        assert limited.ask(QUICK, (), int)


def test_a_connection_that_was_lost_refuses_no_other(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server does not end the question here: its connection is given up, and another one asks the next."""
    monkeypatch.setattr(page_database, "SECONDS", 60.0)
    with PageDatabase(f"{database.dsn('toolguard_page')} options='-c statement_timeout=0'") as pages:
        before = pages.ask(QUICK, (), int)
        with monkeypatch.context() as hasty:
            hasty.setattr(page_database, "SECONDS", 0.3)
            with pytest.raises(UnreachableError):
                pages.ask(SLOW, (), int)
        assert pages.ask(QUICK, (), int) not in (0, before)
