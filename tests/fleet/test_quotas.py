"""A gateway may store so much in a day, whichever function stores it; held calls do not count."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from audit_logs import Chain
from fleet_database import Connection, FleetDatabase, Gateway


def append(login: Connection, gateway: Gateway, chain: Chain, first: int, lines: list[bytes]) -> Any:
    given = (gateway.id, gateway.token, chain.name, first, lines)
    return login.execute("SELECT fleet.audit_append(%s, %s, %s, %s, %s::bytea[])", given).fetchone()


def record(login: Connection, gateway: Gateway, first: int, count: int, name: str = "x") -> Any:
    names = {"agent": name, "session": name, "channel": "", "provider": "", "model": "", "outcome": "completed"}
    sizes = dict.fromkeys(("input", "output", "cache_read", "cache_write", "total", "duration_ms"), 1)
    calls = [{"seq": first + n, "at": 0, **names, **sizes} for n in range(count)]
    rows = json.dumps({"stream": "0" * 16, "calls": calls, "verdicts": []})
    return login.execute("SELECT fleet.record(%s, %s, %s::jsonb)", (gateway.id, gateway.token, rows)).fetchone()


def count(owner: Connection, table: str) -> int:
    row = owner.execute(f"SELECT count(*) FROM fleet.{table}").fetchone()  # noqa: S608 - names of the tests
    assert row
    return int(row[0])


def set_quota(owner: Connection, megabytes: int, gateway: str = "*") -> None:
    owner.execute("SELECT fleet.set_quota(%s, %s)", (gateway, megabytes))


def refused(login: Connection, gateway: Gateway, first: int, rows: int = 1_000, name: str = "x" * 200) -> str:
    """Why rows of metrics are not taken; empty if they are."""
    try:
        record(login, gateway, first, rows, name)
    except psycopg.Error as error:
        return f"{error.sqlstate} {error}"
    return ""


def fill(login: Connection, gateway: Gateway) -> int:
    """Sends rows of metrics until some are refused; how many were taken."""
    for first in range(1, 100_000, 1_000):
        if why := refused(login, gateway, first):
            assert why.startswith("TG014 this gateway has stored all that it may in a day (1 MB)")
            return first - 1
    raise AssertionError("nothing was refused")


def test_what_is_beyond_the_quota_is_refused_as_a_whole(
    gateway_login: Connection, owner: Connection, database: FleetDatabase
) -> None:
    set_quota(owner, 1)
    taken = fill(gateway_login, database.gateway())
    assert 1_000 <= taken <= 5_000
    assert count(owner, "call") == taken


def test_audit_lines_and_metrics_count_together(
    gateway_login: Connection, owner: Connection, database: FleetDatabase
) -> None:
    set_quota(owner, 1)
    gateway, chain = database.gateway(), Chain()
    lines = chain.add(2)
    append(gateway_login, gateway, chain, 1, lines[:1])
    fill(gateway_login, gateway)
    for name in ("x" * 200, "x"):  # single rows, until not even a line fits
        while not refused(gateway_login, gateway, count(owner, "call") + 1, 1, name):
            pass
    with pytest.raises(psycopg.Error) as error:
        append(gateway_login, gateway, chain, 2, lines[1:])
    assert error.value.sqlstate == "TG014"
    assert count(owner, "audit") == 1


def test_one_gateway_does_not_use_up_what_another_may(
    gateway_login: Connection, owner: Connection, database: FleetDatabase
) -> None:
    set_quota(owner, 1)
    fill(gateway_login, database.gateway())
    assert record(gateway_login, database.gateway(), 1, 1)


def test_the_next_day_and_a_higher_quota_let_it_go_on(
    gateway_login: Connection, owner: Connection, database: FleetDatabase
) -> None:
    set_quota(owner, 1)
    gateway = database.gateway()
    taken = fill(gateway_login, gateway)
    set_quota(owner, 2, gateway.id)
    assert record(gateway_login, gateway, taken + 1, 1_000, "x" * 200)
    set_quota(owner, 1, gateway.id)
    owner.execute("UPDATE fleet.stored_today SET day = day - 1")
    assert record(gateway_login, gateway, taken + 1_001, 1_000, "x" * 200)


def test_what_was_sent_before_costs_nothing(gateway_login: Connection, owner: Connection, database: FleetDatabase) -> None:
    gateway = database.gateway()
    for _ in range(2):
        record(gateway_login, gateway, 1, 100)
        (stored,) = owner.execute("SELECT bytes FROM fleet.stored_today").fetchone() or (0,)
    assert 0 < stored < 100 * 1_000


@pytest.mark.parametrize("megabytes", [0, 1_000_001])
def test_what_is_no_quota(owner: Connection, megabytes: int) -> None:
    with pytest.raises(psycopg.Error, match="megabytes must be"):
        set_quota(owner, megabytes)


def test_a_gateway_cannot_raise_its_own(gateway_login: Connection) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        set_quota(gateway_login, 1_000)
