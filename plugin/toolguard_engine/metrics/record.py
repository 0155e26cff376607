"""Writes model calls, and adds them to their hours and days in the same transaction, so that the sums always fit."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

OWN = 1
"""The source of what toolguard itself has seen (`toolguard_sources`)."""

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
ROLLUPS = {"toolguard_hours": HOUR_MS, "toolguard_days": DAY_MS}

_SUMS = (
    "calls", "failed", "input", "output", "cache_read", "cache_write", "total",
    "priced", "cost_usd", "estimated_usd", "timed", "duration_ms",
)  # fmt: skip
ADDED = ", ".join(f"{name} = {name} + excluded.{name}" for name in _SUMS)
"""What happens to a row of a rollup that is there already."""


class Call(NamedTuple):
    """One model call, in the order of the columns of `toolguard_calls`. `at`: milliseconds since 1970; `""`: not told.

    `cost_estimated`: 1 where the cost comes from our own price table.
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


_INSERT = (
    f"INSERT INTO toolguard_calls ({', '.join(Call._fields)}, source) "  # noqa: S608 - names of columns
    f"VALUES ({'?, ' * len(Call._fields)}?)"
)


def _adds_up(table: str, length: int) -> str:
    """The statement that adds the calls after a certain one to a rollup."""
    return f"""
        INSERT INTO {table} (at, gateway, model, provider, agent, source, {", ".join(_SUMS)})
        SELECT at - at % {length}, gateway, model, provider, agent, source,
            count(*), sum(outcome NOT IN ('', 'completed')),
            sum(input), sum(output), sum(cache_read), sum(cache_write), sum(total),
            count(cost_usd), total(cost_usd), total(cost_usd * cost_estimated), count(duration_ms), total(duration_ms)
        FROM toolguard_calls WHERE id > ?
        GROUP BY 1, 2, 3, 4, 5, 6
        ON CONFLICT (at, gateway, model, provider, agent, source) DO UPDATE SET {ADDED}
        """  # noqa: S608 - names of tables and columns


_ROLL_UP = tuple(_adds_up(table, length) for table, length in ROLLUPS.items())


def record(connection: sqlite3.Connection, calls: Sequence[Call], source: int = OWN) -> None:
    """Adds the calls. Only inside a `transaction`: what is new is what has a higher id than all before."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM toolguard_calls").fetchone()
    connection.executemany(_INSERT, [(*call, source) for call in calls])
    for statement in _ROLL_UP:
        connection.execute(statement, (last,))
