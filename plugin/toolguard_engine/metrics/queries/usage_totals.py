"""Usage since a moment, for the command line."""

from __future__ import annotations

import sqlite3
from typing import Literal, NamedTuple

from toolguard_engine.metrics.queries import sums
from toolguard_engine.metrics.queries.row_values import most_expensive
from toolguard_engine.metrics.queries.time_ranges import Span
from toolguard_engine.metrics.result_types import Share, Totals
from toolguard_engine.metrics.retention import removed_until
from toolguard_engine.metrics.row_writer import DAY_MS, HOUR_MS

Grouping = Literal["model", "agent", "gateway", "session", "day"]

MAX_DAYS = 3_650
"""The longest retention."""

HOURS_KEPT_DAYS = 7
"""Up to this many days back it is exact to the hour, beyond that to the day: the settings keep hours for longer."""

_COLUMNS: dict[Grouping, sums.Key] = {
    "model": ("model", "provider"),
    "agent": ("agent",),
    "gateway": ("gateway",),
    "session": ("session", "agent", "gateway"),
}


class UsageShares(NamedTuple):
    """`start`: the actual start in milliseconds since 1970, rounded down to `length`; `cut`: it is later than requested,
    because no more is kept. `shares`: the most expensive first; days in order of time, each named by its start in
    milliseconds."""

    start: int
    shares: list[Share]
    length: int = HOUR_MS
    cut: bool = False


def usage(connection: sqlite3.Connection, by: Grouping, since: int, now: int) -> UsageShares:
    """Everything since then (milliseconds since 1970), rounded down to the hour or the day (UTC), or everything that is
    kept."""
    over = _span(connection, by, since, now)
    return UsageShares(over.start, _shares(connection, by, over), over.bucket_ms, over.start > since)


def _shares(connection: sqlite3.Connection, by: Grouping, over: Span) -> list[Share]:
    if by == "day":
        buckets = sums.by_bucket(connection, (), over).get((), {})
        return [Share(str(over.begins[at]), totals) for at, totals in sorted(buckets.items())]
    totals_by_key = sums.add_up(connection, _COLUMNS[by], over, table="toolguard_sessions" if by == "session" else "")
    return most_expensive((_share(by, key, one) for key, one in totals_by_key.items()), len(totals_by_key))


def _share(by: Grouping, key: sums.Key, totals: Totals) -> Share:
    if by == "model":
        return Share(key[0], totals, provider=key[1])
    if by == "session":
        return Share(key[0], totals, agent=key[1], gateway=key[2])
    return Share(key[0], totals)


def _span(connection: sqlite3.Connection, by: Grouping, since: int, now: int) -> Span:
    days = by in ("session", "day") or now - since > HOURS_KEPT_DAYS * DAY_MS
    length = DAY_MS if days else HOUR_MS
    kept = "raw" if by == "session" else "days" if days else "hours"
    start = max(since, now - MAX_DAYS * DAY_MS, removed_until(connection, kept, now))
    start -= start % length
    return Span("30d", start, length, max(1, -(-(now + 1 - start) // length)), days=days)
