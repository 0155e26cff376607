"""Usage since any moment, for the command line."""

from __future__ import annotations

import sqlite3
from typing import Literal, NamedTuple

from toolguard_engine.metrics.queries import sums
from toolguard_engine.metrics.queries.spans import Span
from toolguard_engine.metrics.queries.values import dearest
from toolguard_engine.metrics.record import DAY_MS, HOUR_MS
from toolguard_engine.metrics.shapes import Share, Totals

Grouping = Literal["model", "agent", "gateway", "session", "day"]

MAX_DAYS = 366
HOURS_KEPT_DAYS = 7
"""Up to so many days back it is exact to the hour, beyond to the day: nobody who keeps less would get a part of it."""

_COLUMNS: dict[Grouping, sums.Key] = {
    "model": ("model", "provider"),
    "agent": ("agent",),
    "gateway": ("gateway",),
    "session": ("session", "agent", "gateway"),
}


class Usage(NamedTuple):
    """`start`: since when it counts indeed, in milliseconds since 1970. `shares`: the dearest first; days by time, each
    named by when it begins, in milliseconds."""

    start: int
    shares: list[Share]


def usage(connection: sqlite3.Connection, by: Grouping, since: int, now: int) -> Usage:
    """All since then (milliseconds since 1970), rounded down to the hour or the day (UTC)."""
    over = _span(by, since, now)
    if by == "day":
        buckets = sums.by_bucket(connection, (), over).get((), {})
        return Usage(over.start, [Share(str(over.begins[at]), each) for at, each in sorted(buckets.items())])
    table = "toolguard_sessions" if by == "session" else ""
    found = sums.by(connection, _COLUMNS[by], over, table=table)
    return Usage(over.start, dearest((_share(by, key, one) for key, one in found.items()), len(found)))


def _share(by: Grouping, key: sums.Key, totals: Totals) -> Share:
    if by == "model":
        return Share(key[0], totals, provider=key[1])
    if by == "session":
        return Share(key[0], totals, agent=key[1], gateway=key[2])
    return Share(key[0], totals)


def _span(by: Grouping, since: int, now: int) -> Span:
    earliest = now - MAX_DAYS * DAY_MS
    days = by in ("session", "day") or now - since > HOURS_KEPT_DAYS * DAY_MS
    length = DAY_MS if days else HOUR_MS
    start = max(since, earliest)
    start -= start % length
    return Span("30d", start, length, max(1, -(-(now + 1 - start) // length)), days=days)
