"""Sums of calls from the rollups: the calls themselves are never read for them."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from toolguard_engine.metrics.queries.row_values import SUMS, added, text, totals
from toolguard_engine.metrics.queries.time_ranges import Span
from toolguard_engine.metrics.result_types import Totals
from toolguard_engine.metrics.row_writer import DAY_MS

MAX_NAME = 200
SUMMED = ", ".join(f"total({name})" for name in SUMS)
"""Unlike `sum`, `total` does not fail for a sum beyond 64 bits."""

Key = tuple[str, ...]
NOWHERE: Mapping[str, str] = MappingProxyType({})


def add_up(
    connection: sqlite3.Connection,
    columns: Key,
    span: Span,
    where: Mapping[str, str] = NOWHERE,
    table: str = "",
    only: str = "",
) -> dict[Key, Totals]:
    """The sums of a range for each combination of values in these columns. `where`: columns with the value they must have;
    `only`: a further condition of ours."""
    totals_by_key: defaultdict[Key, list[Totals]] = defaultdict(list)
    for row in _rows(connection, columns, span, where, table, only):
        totals_by_key[names(row[: len(columns)])].append(totals(row[len(columns) :]))
    return {key: added(days) for key, days in totals_by_key.items()}


def by_bucket(
    connection: sqlite3.Connection, columns: Key, span: Span, where: Mapping[str, str] = NOWHERE
) -> dict[Key, dict[int, Totals]]:
    """The same for each bucket; empty buckets are left out."""
    bucket = f"(at - {span.start:d}) / {span.bucket_ms:d}"
    totals_by_key: defaultdict[Key, defaultdict[int, list[Totals]]] = defaultdict(lambda: defaultdict(list))
    for row in _rows(connection, (bucket, *columns), span, where):
        totals_by_key[names(row[1 : len(columns) + 1])][int(row[0])].append(totals(row[len(columns) + 1 :]))
    return {key: {at: added(days) for at, days in buckets.items()} for key, buckets in totals_by_key.items()}


def names(values: tuple[Any, ...]) -> Key:
    return tuple(text(value, MAX_NAME) for value in values)


def _rows(
    connection: sqlite3.Connection, columns: Key, span: Span, where: Mapping[str, str], table: str = "", only: str = ""
) -> Iterator[tuple[Any, ...]]:
    """The columns, the tables and `only` are ours; values from outside are parameters."""
    source, within, spelled = (table, [], {}) if table else _source(span, {*columns, *where})
    conditions = [
        *within,
        "at >= ?",
        "at < ?",
        *(f"{spelled.get(name, name)} = ?" for name in where),
        *([only] if only else []),
    ]
    group = [spelled.get(column, column) for column in columns]
    grouped = f"GROUP BY {', '.join(group)}" if group else ""
    statement = f"SELECT {', '.join((*group, SUMMED))} FROM {source} WHERE {' AND '.join(conditions)} {grouped}"  # noqa: S608
    yield from connection.execute(statement, (span.start, span.end, *where.values()))


def _source(span: Span, asked: set[str]) -> tuple[str, list[str], dict[str, str]]:
    """The table with the fewest rows that has these columns, the condition on it, and its names for them."""
    if "channel" in asked:
        return "toolguard_parts", [f"length = {DAY_MS}", "part = 'channel'"], {"channel": "name"}
    if "agent" not in asked:
        return "toolguard_parts", [f"length = {span.length}", "part = 'model'"], {"model": "name"}
    if not asked & {"model", "provider"}:
        return "toolguard_parts", [f"length = {span.length}", "part = 'agent'"], {"agent": "name"}
    return span.table, [], {}
