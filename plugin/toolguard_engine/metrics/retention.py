"""Removes rows that are older than the settings keep: single rows, sums of hours and sums of days, each with its own age.

Invariants: removing rows changes no sum. The file is shared by all gateways of the machine, so the longest retention
counts. One process cleans, at 04:00 UTC or as soon as one with a steady clock runs after it (`steady_clock`); the next one
continues after it was killed. It works in small pieces, so that no process waits. What the import must remember
(`toolguard_taken`, `toolguard_sources`) stays. The newest row always stays: ids only grow, and readers rely on them. The
time up to which rows were removed is stored, so that no row is copied again and no partial sum counts as complete.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from toolguard_engine.config.settings import Retention
from toolguard_engine.metrics.row_writer import DAY_MS, HOUR_MS, ROLLUPS, SESSIONS, VERDICT_ROLLUPS
from toolguard_engine.stores.transactions import transaction

CLEANED = "cleaned"
CLEANING = "cleaning"
DUE_MS = 4 * HOUR_MS
"""The hour of each day (UTC)."""

CLAIM_MS = 10 * 60_000
"""A process that has not finished after this time was killed."""

LEFT_MS = 30 * DAY_MS
"""A gateway that was not seen for this long has no say."""

CHUNK = 500
"""Rows removed at once."""

RAW = ("toolguard_calls", "toolguard_verdicts")
REMOVED = ("raw", "hours", "days")
"""What is removed up to a stored moment: `raw` are the single rows and the sums of sessions."""


def is_due(last: int | None, now: int) -> bool:
    """Whether a 04:00 has passed since the last clean-up. A time more than a day ahead comes from a wrong clock."""
    return last is None or last < now - (now - DUE_MS) % DAY_MS or last > now + DAY_MS


def claim(connection: sqlite3.Connection, now: int) -> bool:
    """Claims the clean-up; whether it is due and this process does it."""
    if not _falls_to_us(connection, now):
        return False
    with transaction(connection):
        if ours := _falls_to_us(connection, now):
            connection.execute(_SET, (CLEANING, now))
    return ours


def clean(connection: sqlite3.Connection, kept: Retention, now: int) -> Iterator[int]:
    """Removes piece by piece and yields the number of removed rows. At the end it stores the moment. `kept`: the minimum to
    keep."""
    befores = _befores(connection, kept, now)
    with transaction(connection):
        for name, before in befores.items():
            connection.execute(_SET, (name, max(before, removed_until(connection, name, now))))
    for statement, before in _removals(befores):
        while removed := _removed(connection, statement, before):
            yield removed
    with transaction(connection):
        connection.execute(_SET, (CLEANED, now))
        connection.execute("DELETE FROM toolguard_upkeep WHERE name = ?", (CLEANING,))


def removed_until(connection: sqlite3.Connection, name: str, now: int) -> int:
    """Rows from before this moment were removed; 0 if none were. A future moment comes from a wrong clock. `name`: see
    `REMOVED`."""
    (at,) = connection.execute("SELECT coalesce(max(at), 0) FROM toolguard_upkeep WHERE name = ?", (name,)).fetchone()
    return int(at) if at <= now else 0


def taken_since(connection: sqlite3.Connection, kept: Retention, now: int) -> int:
    """Single rows from before this are too old to be copied, or were copied and removed."""
    return max(now - kept.raw_days * DAY_MS, removed_until(connection, "raw", now))


def _befores(connection: sqlite3.Connection, kept: Retention, now: int) -> dict[str, int]:
    """The moments before which rows are removed, by the names of `REMOVED`."""
    wanted = connection.execute(_WANTED, (now - LEFT_MS,)).fetchone()
    days = map(max, (kept.raw_days, kept.hourly_days, kept.daily_days), wanted)
    return {name: now - age * DAY_MS for name, age in zip(REMOVED, days, strict=True)}


def _falls_to_us(connection: sqlite3.Connection, now: int) -> bool:
    known = dict(connection.execute("SELECT name, at FROM toolguard_upkeep"))
    claimed = known.get(CLEANING)
    return is_due(known.get(CLEANED), now) and (claimed is None or not 0 <= now - claimed < CLAIM_MS)


def _removed(connection: sqlite3.Connection, statement: str, before: int) -> int:
    with transaction(connection):
        return connection.execute(statement, (before,)).rowcount


def _removals(befores: dict[str, int]) -> Iterator[tuple[str, int]]:
    """Statements, and what each removes. A sum is removed when all of its time is too old."""
    for table in RAW:
        yield _old_rows(table), befores["raw"]
    names = {HOUR_MS: "hours", DAY_MS: "days"}
    sums = [(table, length, names[length]) for table, length in (ROLLUPS | VERDICT_ROLLUPS).items()]
    sums.append((SESSIONS, DAY_MS, "raw"))
    for table, length, name in sums:
        yield _oldest_sums(table), befores[name] - befores[name] % length


def _old_rows(table: str) -> str:
    return f"""
        DELETE FROM {table} WHERE id IN (
            SELECT id FROM {table} WHERE at < ? AND id < (SELECT max(id) FROM {table}) LIMIT {CHUNK}
        )"""  # noqa: S608 - our own names


def _oldest_sums(table: str) -> str:
    return f"DELETE FROM {table} WHERE at = (SELECT min(at) FROM {table}) AND at < ?"  # noqa: S608 - our own names


_SET = "INSERT INTO toolguard_upkeep (name, at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET at = excluded.at"
_WANTED = """
    SELECT coalesce(max(raw_days), 0), coalesce(max(hourly_days), 0), coalesce(max(daily_days), 0)
    FROM toolguard_gateways WHERE seen >= ?"""
