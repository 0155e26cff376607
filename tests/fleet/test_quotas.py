"""A gateway may store so much in a day, whichever function stores it; held calls do not count."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from audit_logs import Chain
from fleet_database import Connection, FleetDatabase, Gateway
from toolguard_fleet.fleet_errors import FleetError
from toolguard_fleet.shipping import run_shipping


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


def stored(owner: Connection) -> int:
    (total,) = owner.execute("SELECT coalesce(sum(bytes), 0) FROM fleet.stored_today").fetchone() or (0,)
    return int(total)


def size(owner: Connection, *tables: str) -> int:
    sizes = owner.execute(
        "SELECT sum(pg_total_relation_size(relid))"
        " FROM unnest(%s::text[]) AS name, pg_partition_tree(('fleet.' || name)::regclass)",
        (list(tables),),
    ).fetchone()
    assert sizes
    return int(sizes[0])


def reach(owner: Connection, gateway: Gateway, percent: int) -> None:
    """As if that much of a quota of 1 MB were stored."""
    set_quota(owner, 1)
    owner.execute(
        "INSERT INTO fleet.stored_today VALUES (%s, fleet.utc_day(clock_timestamp()), %s)"
        " ON CONFLICT (gateway) DO UPDATE SET bytes = excluded.bytes",
        (gateway.id, percent * 10_000),
    )


def test_what_is_refused_takes_no_room(gateway_login: Connection, owner: Connection, database: FleetDatabase) -> None:
    """Rows of a statement that fails would stay on the disk until they are vacuumed, and in the journal."""
    gateway, chain = database.gateway(), Chain()
    lines = chain.add(100, reason="x" * 500)
    append(gateway_login, gateway, chain, 1, lines[:1])
    record(gateway_login, gateway, 1, 1)
    reach(owner, gateway, 100)
    tables = ("audit", "audit_gap", "audit_head", "call", "verdict", "metric_head", "event", "call_part", "stored_today")
    before = size(owner, *tables)
    for _ in range(20):
        assert refused(gateway_login, gateway, 2).startswith("TG014")
        for give in (
            lambda: append(gateway_login, gateway, chain, 2, lines[1:]),
            lambda: skip(gateway_login, gateway, chain, 1),
        ):
            with pytest.raises(psycopg.Error) as error:
                give()
            assert error.value.sqlstate == "TG014"
    assert size(owner, *tables) == before


def skip(login: Connection, gateway: Gateway, chain: Chain, stored: int) -> Any:
    """Reports that the line after these is missing."""
    given = (gateway.id, gateway.token, chain.name, stored + 1, stored + 1, "c" * 64)
    return login.execute("SELECT fleet.audit_skip(%s, %s, %s, %s, %s, %s, 'missing')", given).fetchone()


def test_lines_that_are_missing_are_charged(gateway_login: Connection, owner: Connection, database: FleetDatabase) -> None:
    """With the events that say so: reporting them for ever would fill the disk as well."""
    gateway, chain = database.gateway(), Chain()
    append(gateway_login, gateway, chain, 1, chain.add(1))
    before = stored(owner)
    skip(gateway_login, gateway, chain, 1)
    row = owner.execute(
        "SELECT (SELECT pg_column_size(g.*) FROM fleet.audit_gap AS g)"
        " + (SELECT pg_column_size(e.*) FROM fleet.event AS e WHERE kind = 'audit.gap')"
    ).fetchone()
    assert row
    assert stored(owner) - before == pytest.approx(row[0], abs=16)  # as it lies in a page


def test_metrics_leave_room_for_audit_lines(gateway_login: Connection, owner: Connection, database: FleetDatabase) -> None:
    gateway, chain = database.gateway(), Chain()
    lines = chain.add(2)
    reach(owner, gateway, 79)
    assert not refused(gateway_login, gateway, 1, 100)  # the last batch
    assert refused(gateway_login, gateway, 101, 1, "x").startswith("TG014")
    assert append(gateway_login, gateway, chain, 1, lines[:1])
    reach(owner, gateway, 100)
    with pytest.raises(psycopg.Error) as error:
        append(gateway_login, gateway, chain, 2, lines[1:])
    assert error.value.sqlstate == "TG014"
    assert count(owner, "audit") == 1


def test_a_copy_of_a_gateway_is_found_beyond_the_quota(
    gateway_login: Connection, owner: Connection, database: FleetDatabase
) -> None:
    gateway, chain = database.gateway(), Chain()
    append(gateway_login, gateway, chain, 1, chain.add(2))
    reach(owner, gateway, 100)
    (answer,) = append(gateway_login, gateway, chain, 2, [chain.line(2, "d" * 64)])
    assert answer["outcome"] == "fork"


@pytest.mark.parametrize("inner", ["append_lines", "skip_lines", "record_rows"])
def test_a_gateway_cannot_go_round_the_quota(gateway_login: Connection, owner: Connection, inner: str) -> None:
    row = owner.execute(
        "SELECT has_function_privilege('toolguard_gateway', oid, 'EXECUTE') FROM pg_proc WHERE proname = %s", (inner,)
    ).fetchall()
    assert row == [(False,)]


@pytest.mark.parametrize(("name", "least"), [("audit", 2_000.0), ("metrics", 30.0)])
def test_the_courier_does_not_ask_every_minute(name: str, least: float) -> None:
    """Its shipper of metrics goes on with standings."""
    assert run_shipping.retry_after(name, FleetError("full", "TG014"), 1) >= least


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
