"""A database as the plugin that toolguard replaces leaves it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

SCHEMA = """
    CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL);
    INSERT INTO schema_version VALUES (1, '2025-06-01T00:00:00.000Z');
    CREATE TABLE usage_events (
        id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, gateway_id TEXT, channel TEXT, provider TEXT, model TEXT,
        session_key TEXT, session_id TEXT, input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER,
        cache_write_tokens INTEGER, prompt_tokens INTEGER, total_tokens INTEGER, cost_usd REAL, duration_ms INTEGER,
        context_limit INTEGER, context_used INTEGER
    );
    CREATE INDEX idx_usage_events_ts ON usage_events (ts);
    CREATE TABLE hourly_stats (
        hour TEXT NOT NULL, gateway_id TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
        event_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
        total_tokens INTEGER DEFAULT 0, cost_usd REAL DEFAULT 0, PRIMARY KEY (hour, gateway_id, model)
    );
    CREATE TABLE daily_stats (
        day TEXT NOT NULL, gateway_id TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
        event_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
        total_tokens INTEGER DEFAULT 0, cost_usd REAL DEFAULT 0, PRIMARY KEY (day, gateway_id, model)
    );
"""
_EVENT = (
    "INSERT INTO usage_events (ts, gateway_id, channel, provider, model, session_key, input_tokens, output_tokens,"
    " cache_read_tokens, cache_write_tokens, total_tokens, cost_usd, duration_ms)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SUMS = "count(*), sum(input_tokens), sum(output_tokens), sum(total_tokens), sum(cost_usd)"
DAYS = 29


def make_old(path: Path, events: int) -> None:
    """Events of the last month with their hours and days."""
    first = time.time() - DAYS * 86_400
    rows = (_row(first + number * DAYS * 86_400 / events, number) for number in range(events))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
        connection.executemany(_EVENT, rows)
        for table, begins in (("hourly_stats", "substr(ts, 1, 13) || ':00:00Z'"), ("daily_stats", "substr(ts, 1, 10)")):
            grouped = f"SELECT {begins}, gateway_id, model, {_SUMS} FROM usage_events GROUP BY 1, 2, 3"  # noqa: S608 - our own
            connection.execute(f"INSERT INTO {table} {grouped}")
        connection.commit()


def _row(moment: float, number: int) -> tuple[object, ...]:
    ts = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    session = number // 2_000 * 50 + number % 50
    agent = session % 30
    model = (agent * 7 + number % 3) % 20
    return (
        ts,
        f"gateway-{agent % 4}",
        "",
        f"provider-{model % 5}",
        f"model-{model}",
        session,
        900,
        90,
        5,
        5,
        1_000,
        0.01,
        1_500,
    )
