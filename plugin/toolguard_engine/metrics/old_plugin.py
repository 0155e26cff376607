"""Reads the metrics of the plugin that toolguard replaces ("tool-guard"), and writes nothing.

Invariant: whatever the file holds, every row becomes a valid value or `None`. SQLite bounds and checks each field before
Python sees it: a negative, absurd or non-numeric number becomes `UNUSABLE`, a text of another type NULL; either, or an
impossible time, makes the whole row unusable. A missing number is 0, as for the old plugin.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.metrics.database import OLD_EVENTS, Missing, open_existing, reported
from toolguard_engine.metrics.row_writer import DAY_MS, HOUR_MS, CallRecord

MAX_NAME = 200
MAX_TIME = 40
MAX_TOKENS = 10**9
MAX_COST = 10**6
MAX_DURATION_MS = 7 * DAY_MS
MAX_SUM = 10**12
"""Of tokens, calls or dollars in one hour or day; a million of them still fit into a SQLite integer."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
EARLIEST_MS = (datetime(2020, 1, 1, tzinfo=UTC) - _EPOCH) // _MILLISECOND
_AGENT = lazy_re.compile(r"agent:([^:]{1,80}):")

UNUSABLE = -1
_SUM_NUMBERS = ("event_count", "input_tokens", "output_tokens", "total_tokens", "cost_usd")
_TABLES = {
    OLD_EVENTS: (
        "id", "ts", "gateway_id", "channel", "provider", "model", "session_key", "session_id", "input_tokens",
        "output_tokens", "cache_read_tokens", "cache_write_tokens", "total_tokens", "cost_usd", "duration_ms",
    ),
    "hourly_stats": ("hour", "gateway_id", "model", *_SUM_NUMBERS),
    "daily_stats": ("day", "gateway_id", "model", *_SUM_NUMBERS),
}  # fmt: skip
_TIMES = ("ts", "hour", "day")
_NAMES = ("gateway_id", "channel", "provider", "model", "session_key", "session_id")


class OldEvent(NamedTuple):
    """`mark`: a hash of the columns as `_select` reads them, which identifies the event. Changing what is read makes every
    file that was imported before unknown. `call`: `None` if it cannot be used."""

    id: int
    mark: int
    call: CallRecord | None


class Sum(NamedTuple):
    """The old plugin's sums for one hour or day, gateway and model. `at`: where the hour or day begins."""

    at: int
    gateway: str
    model: str
    calls: int
    input: int
    output: int
    total: int
    cost_usd: float


def _text(column: str, most: int) -> str:
    return f"CASE typeof({column}) WHEN 'text' THEN substr({column}, 1, {most}) WHEN 'null' THEN '' END"


def _number(column: str, most: int, missing: str = "0", rounded: str = "CAST(round({}) AS INTEGER)") -> str:
    return (
        f"CASE typeof({column}) WHEN 'null' THEN {missing} "
        f"WHEN 'integer' THEN CASE WHEN {column} BETWEEN 0 AND {most} THEN {column} ELSE {UNUSABLE} END "
        f"WHEN 'real' THEN CASE WHEN {column} BETWEEN 0 AND {most} THEN {rounded.format(column)} ELSE {UNUSABLE} END "
        f"ELSE {UNUSABLE} END"
    )


def _select(table: str, numbers: dict[str, str]) -> str:
    texts = {name: _text(name, MAX_NAME) for name in _NAMES} | {name: _text(name, MAX_TIME) for name in _TIMES}
    checked = {"id": "id"} | texts | numbers
    return f"SELECT {', '.join(checked[column] for column in _TABLES[table])} FROM {table}"  # noqa: S608 - our own names


_OF_A_CALL = {name: _number(name, MAX_TOKENS) for name in _TABLES[OLD_EVENTS] if name.endswith("_tokens")} | {
    "total_tokens": _number("total_tokens", MAX_TOKENS, "NULL"),
    "cost_usd": _number("cost_usd", MAX_COST, "NULL", "{}"),
    "duration_ms": _number("duration_ms", MAX_DURATION_MS, "NULL"),
}
_OF_A_SUM = {name: _number(name, MAX_SUM) for name in _SUM_NUMBERS} | {"cost_usd": _number("cost_usd", MAX_SUM, "0", "{}")}
_EVENTS_AFTER = f"{_select(OLD_EVENTS, _OF_A_CALL)} WHERE id > ? ORDER BY id LIMIT ?"
_EVENTS_BACK = f"{_select(OLD_EVENTS, _OF_A_CALL)} WHERE id > 0 AND id <= ? ORDER BY id DESC"
_SUMS_OF = {HOUR_MS: _select("hourly_stats", _OF_A_SUM), DAY_MS: _select("daily_stats", _OF_A_SUM)}


_SIZES = tuple(f"SELECT count(*) FROM {table}" for table in _TABLES)  # noqa: S608 - our own names
_WAITING = f"SELECT count(*) FROM {OLD_EVENTS} WHERE id > ?"  # noqa: S608 - our own name


def _span(table: str, column: str) -> str:
    bounded = f"substr(min({column}), 1, {MAX_TIME}), substr(max({column}), 1, {MAX_TIME})"
    return f"SELECT {bounded} FROM {table} WHERE {column} GLOB '20[0-9][0-9]-[01][0-9]-[0-3][0-9]*' AND {column} < ?"  # noqa: S608


_SPANS = (_span(OLD_EVENTS, "ts"), _span("hourly_stats", "hour"), _span("daily_stats", "day"))


class OldPlugin:
    """The old plugin's tables in a file. `made`: when the plugin made it, as recorded there, or empty."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.made = _made(connection)
        self._connection = connection

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Reads everything as of one moment, without blocking writers."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def sizes(self) -> tuple[int, int, int]:
        """Rows of events, hours and days."""
        events, hours, days = (self._connection.execute(statement).fetchone()[0] for statement in _SIZES)
        return events, hours, days

    def waiting(self, after: int) -> int:
        """How many events have a higher id than this."""
        (count,) = self._connection.execute(_WAITING, (after,)).fetchone()
        return int(count)

    def events(self, after: int, limit: int, newest: int) -> list[OldEvent]:
        """Events in the order of their ids."""
        rows = self._connection.execute(_EVENTS_AFTER, (after, limit)).fetchall()
        return [OldEvent(row[0], _mark(row), _call(row, newest)) for row in rows]

    def back_from(self, last: int) -> Iterator[tuple[int, int]]:
        """Ids and marks of the events from this id down to the first."""
        for row in self._connection.execute(_EVENTS_BACK, (last,)):
            yield row[0], _mark(row)

    def time_of(self, event: int, newest: int) -> int:
        """The time of this event, or of the last one before it with a possible time; 0 if there is none."""
        times = (_time(row[1], newest) for row in self._connection.execute(_EVENTS_BACK, (event,)))
        return next((at for at in times if at is not None), 0)

    def sums(self, length: int, newest: int) -> Iterator[Sum | None]:
        """The old plugin's hours (`length` is `HOUR_MS`) or days; `None` for a row that cannot be used."""
        for row in self._connection.execute(_SUMS_OF[length]):
            yield _sum(row, length, newest)

    def span(self, newest: int) -> tuple[int | None, int | None]:
        """The first and the last possible time in all three tables."""
        until = datetime.fromtimestamp(newest / 1000, UTC).isoformat()
        texts = [text for statement in _SPANS for text in self._connection.execute(statement, (until,)).fetchone()]
        times = [at for text in texts if (at := _time(text, newest)) is not None]
        return (min(times), max(times)) if times else (None, None)


def look(path: Path) -> OldPlugin | None:
    """The old plugin's tables in this file, if there are any. Raises `MetricsError`."""
    try:
        connection = open_existing(path)
    except Missing:
        return None
    try:
        with reported(path):
            connection.execute("PRAGMA query_only = ON")
            if all(set(columns) <= _columns(connection, table) for table, columns in _TABLES.items()):
                return OldPlugin(path, connection)
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a table; none for a view or a virtual table, which would run code."""
    real = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? AND rootpage > 0"
    if connection.execute(real, (table,)).fetchone() is None:
        return set()
    return {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def _made(connection: sqlite3.Connection) -> str:
    if not {"version", "applied_at"} <= _columns(connection, "schema_version"):
        return ""
    first = "SELECT substr(applied_at, 1, ?) FROM schema_version ORDER BY version LIMIT 1"
    row = connection.execute(first, (MAX_TIME,)).fetchone()
    return _clean(row[0]) if row and isinstance(row[0], str) else ""


def _mark(row: tuple[Any, ...]) -> int:
    return int.from_bytes(blake2b(repr(row).encode(), digest_size=8).digest(), signed=True)


def _call(row: tuple[Any, ...], newest: int) -> CallRecord | None:
    at = _time(row[1], newest)
    if at is None or None in row[2:8] or UNUSABLE in row[8:]:
        return None
    _, _, gateway, channel, provider, model, key, session, fresh, answered, cached, kept, total, cost, duration = row
    return CallRecord(
        at=at,
        gateway=_clean(gateway),
        agent=_agent(key),
        session=_clean(key or session),
        channel=_clean(channel),
        provider=_clean(provider),
        model=_clean(model),
        input=fresh,
        output=answered,
        cache_read=cached,
        cache_write=kept,
        total=fresh + answered + cached + kept if total is None else total,
        cost_usd=cost,
        duration_ms=duration,
    )


def _sum(row: tuple[Any, ...], length: int, newest: int) -> Sum | None:
    at = _time(row[0], newest)
    if at is None or None in row[1:3] or UNUSABLE in row[3:]:
        return None
    _, gateway, model, *numbers = row
    return Sum(at - at % length, _clean(gateway), _clean(model), *numbers)


def _time(text: str | None, newest: int) -> int | None:
    at = _seen(text)
    return at if at is not None and EARLIEST_MS <= at <= newest else None


def _seen(text: str | None) -> int | None:
    """Milliseconds since 1970 of an ISO 8601 text; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text or "")
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=20_000)
def _clean(text: str) -> str:
    """Printable; SQLite has bounded it."""
    return text if text.isprintable() else "".join(one if one.isprintable() else "?" for one in text)


@lru_cache(maxsize=20_000)
def _agent(key: str) -> str:
    match = _AGENT.match(key)
    return _clean(match[1]) if match else ""
