"""Writes model calls and verdicts, and adds them to their sums in the same transaction, so that the sums always match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3

OWN = 1
"""The source of rows that toolguard itself recorded (`toolguard_sources`)."""

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
ROLLUPS = {"toolguard_hours": HOUR_MS, "toolguard_days": DAY_MS}
SESSIONS = "toolguard_sessions"
VERDICT_ROLLUPS = {"toolguard_verdict_hours": HOUR_MS, "toolguard_verdict_days": DAY_MS}

_SUMS = (
    "calls", "failed", "input", "output", "cache_read", "cache_write", "total",
    "priced", "cost_usd", "estimated_usd", "timed", "duration_ms",
)  # fmt: skip
ADDED = ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
"""The update of a rollup row that exists already."""


class CallRecord(NamedTuple):
    """One model call, in the column order of `toolguard_calls`. `at`: milliseconds since 1970; `""`: unknown.

    `cost_estimated`: 1 if the cost comes from our own price table.
    """

    at: int
    gateway: str = ""
    agent: str = ""
    session: str = ""
    channel: str = ""
    provider: str = ""
    model: str = ""
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0
    cost_usd: float | None = None
    cost_estimated: int = 0
    duration_ms: int | None = None
    outcome: str = ""


class VerdictRecord(NamedTuple):
    """One decision of the guard or the user, in the column order of `toolguard_verdicts`.

    `kind`: what happened (`002-guard.sql`). `event`: its unique id. `shown`: the call, redacted. `person`, `place`: who
    decided, and where.
    """

    at: int
    gateway: str = ""
    agent: str = ""
    session: str = ""
    run: str = ""
    tool: str = ""
    decision: str = "allow"
    code: str = ""
    reason: str = ""
    kind: str = ""
    event: str | None = None
    nonce: str = ""
    shown: str = ""
    person: str = ""
    place: str = ""


_OF_MODELS = ("gateway", "model", "provider", "agent", "source")
_OF_SESSIONS = ("gateway", "session", "agent", "channel", "source")
_OF_VERDICTS = ("gateway", "agent", "kind", "code")


def _insert(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - our names


_INSERT = _insert("toolguard_calls", (*CallRecord._fields, "source"))
_INSERT_VERDICT = f"{_insert('toolguard_verdicts', VerdictRecord._fields)} ON CONFLICT (event) DO NOTHING"


def _adds_up(table: str, length: int, names: tuple[str, ...]) -> str:
    """The statement that adds the calls after a certain one to their sums."""
    by = ", ".join(names)
    return f"""
        INSERT INTO {table} (at, {by}, {", ".join(_SUMS)})
        SELECT at - at % {length} AS begins, {by},
            count(*), sum(outcome NOT IN ('', 'completed')),
            sum(input), sum(output), sum(cache_read), sum(cache_write), sum(total),
            count(cost_usd), total(cost_usd), total(cost_usd * cost_estimated), count(duration_ms), total(duration_ms)
        FROM toolguard_calls WHERE id > ?
        GROUP BY begins, {by}
        ON CONFLICT (at, {by}) DO UPDATE SET {ADDED}
        """  # noqa: S608 - names of tables and columns


def _counts(table: str, length: int) -> str:
    """The same for verdicts."""
    by = ", ".join(_OF_VERDICTS)
    return f"""
        INSERT INTO {table} (at, {by}, verdicts)
        SELECT at - at % {length} AS begins, {by}, count(*) FROM toolguard_verdicts WHERE id > ? GROUP BY begins, {by}
        ON CONFLICT (at, {by}) DO UPDATE SET verdicts = verdicts + excluded.verdicts
        """  # noqa: S608 - names of tables and columns


_ROLL_UP = (
    *(_adds_up(table, length, _OF_MODELS) for table, length in ROLLUPS.items()),
    _adds_up(SESSIONS, DAY_MS, _OF_SESSIONS),
)
_ROLL_UP_VERDICTS = tuple(_counts(table, length) for table, length in VERDICT_ROLLUPS.items())


def record(connection: sqlite3.Connection, calls: Sequence[CallRecord], source: int = OWN) -> None:
    """Adds the calls. Only inside a `transaction`: new calls are those with a higher id than all before."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM toolguard_calls").fetchone()
    connection.executemany(_INSERT, [(*call, source) for call in calls])
    for statement in _ROLL_UP:
        connection.execute(statement, (last,))


def record_verdicts(connection: sqlite3.Connection, verdicts: Sequence[VerdictRecord]) -> None:
    """Adds the verdicts whose `event` is not there yet. Only inside a `transaction`, as `record`."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM toolguard_verdicts").fetchone()
    connection.executemany(_INSERT_VERDICT, verdicts)
    for statement in _ROLL_UP_VERDICTS:
        connection.execute(statement, (last,))
