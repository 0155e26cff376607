"""A database with many days of partitions: questions lock and read the days that they need."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from audit_logs import Chain
from fleet_database import Connection, FleetDatabase, Gateway
from held_calls_at_database import Caller, decide

MOST_LOCKS = 60
"""Of one question: PostgreSQL has room for 64 of each connection."""
DAYS = 16
GENERIC = 7
"""Uses after which PostgreSQL may prefer a plan that fits all values."""
TABLES = ("held_closed", "decision", "audit")


@pytest.fixture
def aged(database: FleetDatabase) -> FleetDatabase:
    """Has empty days behind it."""
    owner = database.owner()
    with owner.transaction():
        for table in TABLES:
            for day in range(2, DAYS):
                owner.execute(creation(owner, table, day))
    return database


def creation(owner: Connection, table: str, day: int) -> bytes:
    row = owner.execute(
        "SELECT format('CREATE TABLE fleet.%%1$s_%%2$s PARTITION OF fleet.%%1$s FOR VALUES FROM (%%3$L) TO (%%4$L)',"
        " %s::text, to_char(day, 'YYYYMMDD'), day, day + 1) FROM (SELECT fleet.utc_day(now()) - %s AS day) AS days",
        (table, day),
    ).fetchone()
    assert row
    return str(row[0]).encode()


def locks(connection: Connection, work: Callable[[], Any]) -> int:
    """That one transaction takes for this work, at the most of several times."""
    most = 0
    for _ in range(GENERIC):
        with connection.transaction():
            work()
            row = connection.execute("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()").fetchone()
            assert row
            most = max(most, row[0])
    return most


def test_a_question_of_a_gateway_takes_few_locks(aged: FleetDatabase) -> None:
    gateway = aged.gateway()
    caller = Caller(aged.gateway_login(), gateway)
    anna = aged.person("anna")
    nonce = caller.present("waits")["nonce"]
    used = caller.present("used")["nonce"]
    decide(anna, gateway, used)
    attempt = b"a" * 16
    caller.present("used", attempt=attempt)
    work = {
        "present": lambda: caller.present("waits"),
        "answered before": lambda: caller.present("used", attempt=attempt),
        "sync": lambda: caller.sync([nonce]),
        "entries": caller.entries,
        "give back": lambda: caller.give_back(used, attempt),
        "append": lambda: append(caller.connection, gateway, Chain()),
    }
    assert {name: found for name, each in work.items() if (found := locks(caller.connection, each)) >= MOST_LOCKS} == {}


def append(connection: Connection, gateway: Gateway, chain: Chain) -> None:
    lines = chain.add(3)
    for _ in range(2):  # the second time as after a lost answer
        connection.execute(
            "SELECT fleet.audit_append(%s, %s, %s, 1, %s)", (gateway.id, gateway.token, chain.name_of(lines), lines)
        )


def test_a_question_of_a_person_takes_few_locks(aged: FleetDatabase) -> None:
    gateway = aged.gateway()
    caller = Caller(aged.gateway_login(), gateway)
    anna = aged.person("anna")
    append(caller.connection, gateway, Chain())
    numbers = count()

    def decided(verdict: str) -> None:
        nonce = caller.present(f"a {verdict} call {next(numbers)}")["nonce"]
        decide(anna, gateway, nonce, verdict)

    def asked(statement: str) -> Callable[[], Any]:
        return lambda: anna.execute(statement.encode()).fetchall()

    work = {
        "waiting": asked("SELECT fleet.waiting()"),
        "closed": asked("SELECT fleet.closed(24)"),
        "yes": lambda: decided("approved"),
        "no": lambda: decided("denied"),
        "lines": asked("SELECT * FROM fleet.audit_lines('{}', NULL, 3)"),
        "lines of an hour": asked("""SELECT * FROM fleet.audit_lines('{"hours": 1, "nonce": "abc"}')"""),
    }
    assert {name: found for name, each in work.items() if (found := locks(anna, each)) >= MOST_LOCKS} == {}
