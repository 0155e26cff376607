"""What the database takes of a gateway's audit log: the next lines of a chain, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from audit_logs import Chain
from fleet_database import Connection, FleetDatabase, Gateway


@pytest.fixture
def gateway(database: FleetDatabase) -> Gateway:
    return database.gateway()


@pytest.fixture
def chain() -> Chain:
    return Chain()


def append(login: Connection, gateway: Gateway, chain: str, first: int, lines: list[bytes]) -> dict[str, Any]:
    row = login.execute(
        "SELECT fleet.audit_append(%s, %s, %s, %s, %s::bytea[])", (gateway.id, gateway.token, chain, first, lines)
    ).fetchone()
    assert row
    return row[0]


def stored(owner: Connection) -> list[bytes]:
    return [row[0] for row in owner.execute("SELECT line FROM fleet.audit ORDER BY log, seq").fetchall()]


def state(owner: Connection, gateway: Gateway) -> str:
    row = owner.execute("SELECT state FROM fleet.gateway WHERE id = %s", (gateway.id,)).fetchone()
    assert row
    return row[0]


def events(owner: Connection) -> list[str]:
    rows = owner.execute("SELECT kind FROM fleet.event WHERE kind LIKE 'audit.%' ORDER BY id").fetchall()
    return [row[0] for row in rows]


def test_lines_are_stored_byte_by_byte(gateway_login: Connection, owner: Connection, gateway: Gateway, chain: Chain) -> None:
    lines = chain.add(5)
    assert append(gateway_login, gateway, chain.name, 1, lines[:2]) == {"outcome": "stored", "next": 3}
    assert append(gateway_login, gateway, chain.name, 3, lines[2:]) == {"outcome": "stored", "next": 6}
    assert stored(owner) == lines
    assert events(owner) == []


def test_what_was_sent_before_is_not_added_again(
    gateway_login: Connection, owner: Connection, gateway: Gateway, chain: Chain
) -> None:
    lines = chain.add(6)
    for first, last in ((1, 4), (1, 4), (2, 3), (3, 6), (1, 6)):
        append(gateway_login, gateway, chain.name, first, lines[first - 1 : last])
    assert stored(owner) == lines


def test_a_gap_is_refused(gateway_login: Connection, owner: Connection, gateway: Gateway, chain: Chain) -> None:
    lines = chain.add(5)
    append(gateway_login, gateway, chain.name, 1, lines[:2])
    assert append(gateway_login, gateway, chain.name, 4, lines[3:]) == {"outcome": "gap", "next": 3}
    assert stored(owner) == lines[:2]


def changed(line: bytes) -> bytes:
    return line.replace(b'"event":"', b'"event":"x', 1)


BROKEN = {
    "changed": changed,
    "no newline": lambda line: line[:-1],
    "two newlines": lambda line: line + b"\n",
    "a newline inside": lambda line: line.replace(b'"event"', b'\n"event"', 1),
    "empty": lambda _: b"",
    "no JSON": lambda _: b"\xff\x00" * 60,
    "another number": lambda line: line.replace(b'{"seq":2,', b'{"seq":3,', 1),
    "a number with a zero": lambda line: line.replace(b'{"seq":2,', b'{"seq":02,', 1),
    "blanks before": lambda line: b" " + line,
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_line_that_does_not_fit_its_hash_is_refused(
    gateway_login: Connection, owner: Connection, gateway: Gateway, chain: Chain, broken: str
) -> None:
    lines = chain.add(3)
    append(gateway_login, gateway, chain.name, 1, lines[:1])
    answer = append(gateway_login, gateway, chain.name, 2, [BROKEN[broken](lines[1]), lines[2]])
    assert answer == {"outcome": "refused", "seq": 2, "why": "hash"}
    assert stored(owner) == lines[:1]
    assert state(owner, gateway) == "admitted"


def test_a_line_with_a_new_hash_but_another_number_is_refused(
    gateway_login: Connection, gateway: Gateway, chain: Chain
) -> None:
    lines = chain.add(1)
    append(gateway_login, gateway, chain.name, 1, lines)
    assert append(gateway_login, gateway, chain.name, 2, [chain.line(3, chain.last)])["outcome"] == "refused"


def test_a_line_that_is_too_large_is_refused(
    gateway_login: Connection, owner: Connection, gateway: Gateway, chain: Chain
) -> None:
    lines = [*chain.add(1), *chain.add(1, shown="x" * 65_536)]
    answer = append(gateway_login, gateway, chain.name, 1, lines)
    assert answer == {"outcome": "refused", "seq": 2, "why": "too-large"}
    assert stored(owner) == []


@pytest.mark.parametrize("first", [2, 3, 5])
def test_another_version_of_a_line_is_a_fork(
    gateway_login: Connection, owner: Connection, gateway: Gateway, chain: Chain, first: int
) -> None:
    other = chain.copy()
    shared = chain.add(1)
    other.adopt(shared)
    lines, others = [*shared, *chain.add(4)], [*shared, *other.add(6)]
    append(gateway_login, gateway, chain.name, 1, lines)
    seq = first
    assert append(gateway_login, gateway, chain.name, first, others[first - 1 :]) == {"outcome": "fork", "seq": seq}
    assert stored(owner) == lines
    assert state(owner, gateway) == "quarantined"
    assert events(owner) == ["audit.fork"]
    with pytest.raises(psycopg.errors.DatabaseError) as refused:
        append(gateway_login, gateway, chain.name, 1, lines)
    assert refused.value.sqlstate == "TG002"


def test_a_line_that_follows_another_last_line_is_a_fork(
    gateway_login: Connection, owner: Connection, gateway: Gateway, chain: Chain
) -> None:
    lines = chain.add(2)
    append(gateway_login, gateway, chain.name, 1, lines)
    answer = append(gateway_login, gateway, chain.name, 3, [chain.line(3, "a" * 64)])
    assert answer == {"outcome": "fork", "seq": 2}
    assert state(owner, gateway) == "quarantined"


def test_an_admin_lifts_the_quarantine_and_the_chain_stays_closed(
    gateway_login: Connection, owner: Connection, gateway: Gateway, chain: Chain
) -> None:
    lines = chain.add(2)
    append(gateway_login, gateway, chain.name, 1, lines)
    append(gateway_login, gateway, chain.name, 3, [chain.line(3, "a" * 64)])
    owner.execute("SELECT fleet.admit(%s)", (gateway.id,))
    assert append(gateway_login, gateway, chain.name, 3, chain.add(1)) == {"outcome": "fork", "seq": 2}
    assert state(owner, gateway) == "admitted"
    other = Chain()
    lines = other.add(1)
    assert append(gateway_login, gateway, other.name, 1, lines)["outcome"] == "stored"
    assert events(owner) == ["audit.fork", "audit.new-chain"]


def test_a_chain_is_named_by_its_first_line(gateway_login: Connection, owner: Connection, gateway: Gateway) -> None:
    chain = Chain()
    lines = chain.add(2)
    assert append(gateway_login, gateway, "b" * 64, 1, lines)["outcome"] == "refused"
    assert append(gateway_login, gateway, chain.name_of(lines[1:]), 2, lines[1:]) == {"outcome": "stored", "next": 3}
    assert stored(owner) == lines[1:]


def test_chains_of_gateways_are_apart(gateway_login: Connection, database: FleetDatabase, chain: Chain) -> None:
    lines = chain.add(2)
    for _ in range(2):
        assert append(gateway_login, database.gateway(), chain.name, 1, lines)["next"] == 3


BAD = {
    "chain": ("x", 1, [b"x"]),
    "no chain": (None, 1, [b"x"]),
    "first": ("a" * 64, 0, [b"x"]),
    "no first": ("a" * 64, None, [b"x"]),
    "nothing": ("a" * 64, 1, []),
    "null": ("a" * 64, 1, [None]),
    "many": ("a" * 64, 1, [b"x"] * 1001),
    "two dimensions": ("a" * 64, 1, [[b"x"], [b"y"]]),
    "huge": ("a" * 64, 2**62, [b"x"]),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_arguments_are_refused(gateway_login: Connection, gateway: Gateway, bad: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        append(gateway_login, gateway, *BAD[bad])  # type: ignore[arg-type]


def test_another_gateway_cannot_append(gateway_login: Connection, database: FleetDatabase, chain: Chain) -> None:
    one, other = database.gateway(), database.gateway()
    one.token = other.token
    with pytest.raises(psycopg.errors.DatabaseError) as refused:
        append(gateway_login, one, chain.name_of(lines := chain.add(1)), 1, lines)
    assert refused.value.sqlstate == "TG001"


def test_a_gap_is_closed_only_by_the_line_that_follows_it(
    gateway_login: Connection, owner: Connection, gateway: Gateway, chain: Chain
) -> None:
    lines = chain.add(5)
    append(gateway_login, gateway, chain.name, 1, lines[:1])
    who = (gateway.id, gateway.token, chain.name)
    skip = "SELECT fleet.audit_skip(%s, %s, %s, %s, %s, %s, %s)"
    assert gateway_login.execute(skip, (*who, 3, 4, chain.hash_of(lines[3]), "removed")).fetchone() == (
        {"outcome": "gap", "next": 2},
    )
    for _ in range(2):
        gateway_login.execute(skip, (*who, 2, 4, chain.hash_of(lines[3]), "removed"))
    assert append(gateway_login, gateway, chain.name, 5, lines[4:]) == {"outcome": "stored", "next": 6}
    assert events(owner) == ["audit.gap"]
    gaps = owner.execute("SELECT gaps FROM fleet.audit_chains()").fetchone()
    assert gaps
    assert [(gap["first"], gap["last"], gap["reason"]) for gap in gaps[0]] == [(2, 4, "removed")]


def test_a_gap_cannot_hide_a_fork(gateway_login: Connection, owner: Connection, gateway: Gateway, chain: Chain) -> None:
    lines = chain.add(3)
    append(gateway_login, gateway, chain.name, 1, lines)
    gateway_login.execute(
        "SELECT fleet.audit_skip(%s, %s, %s, 4, 4, %s, 'missing')", (gateway.id, gateway.token, chain.name, "c" * 64)
    )
    assert append(gateway_login, gateway, chain.name, 5, [chain.line(5, "d" * 64)])["outcome"] == "fork"
    assert state(owner, gateway) == "quarantined"


def test_lines_that_are_no_json_of_ours_are_stored_as_they_are(
    gateway_login: Connection, owner: Connection, gateway: Gateway, chain: Chain
) -> None:
    lines = [
        *chain.add(1, shown="\x00", event="\ud800"),
        chain.raw(b'"event":["a"],"time":"2026-99-99T00:00:00Z"'),
        chain.raw(b'"nested":' + b"[" * 9_000 + b"]" * 9_000),
        chain.raw(b'"bytes":"\xff\xfe"'),
    ]
    assert append(gateway_login, gateway, chain.name, 1, lines) == {"outcome": "stored", "next": 5}
    assert stored(owner) == lines


def test_files_of_the_audit_log_are_its_lines(
    gateway_login: Connection, owner: Connection, gateway: Gateway, tmp_path: Path
) -> None:
    """The engine's own log, not one that the tests compose."""
    from audit_logs import log_with  # noqa: PLC0415

    path = log_with(tmp_path, 20)
    lines = path.read_bytes().splitlines(keepends=True)
    assert append(gateway_login, gateway, Chain().name_of(lines), 1, lines)["next"] == 21
    assert b"".join(stored(owner)) == path.read_bytes()
