"""Identifies an imported database: known, a copy of a known one that continued by itself, or new.

Invariants: a file is identified by its events, not by its path or its metadata (files made from one image have the same). A
mark of every imported event is kept. Of the events that a file has up to the last one imported from a database:
- the newest is marked: the file is that database, moved, copied or unchanged, and the import continues after the last;
- only an older one is marked: both were one file until then. Later events belong to another database: they are imported,
  with those hours and days that began later, because the earlier ones came with the other;
- none is marked: the file is not that database;
- there are none: they are 30 days old and gone, or never existed. Then the file is that database if its hours and days
  equal the imported ones; the last day may have more. If several fit, it is the one most was imported from.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from toolguard_engine.metrics.database import MetricsError, reported
from toolguard_engine.metrics.old_plugin import OldEvent, OldPlugin
from toolguard_engine.metrics.row_writer import DAY_MS, ROLLUPS
from toolguard_engine.stores.transactions import transaction

KIND = "tool-guard"


class ImportedDatabase(NamedTuple):
    """`last`: the id up to which its events were imported. `since`: only hours and days that begin later are its own."""

    id: int
    last: int
    since: int


class _Kin(NamedTuple):
    """A database with which this file is identical up to the event `shared`."""

    shared: int
    source: ImportedDatabase


def overtaken(old: OldPlugin) -> MetricsError:
    return MetricsError.make(old.path, "is being imported, or removed again, by another process; try again")


def identify(old: OldPlugin, new: sqlite3.Connection, newest: int) -> ImportedDatabase:
    """The database that this file is; recorded if it is new. Raises `MetricsError`."""
    known = _known(new, old)
    kin, parted = None, 0
    with reported(old.path), old.unchanged():
        same = _marked(old, new, known)
        if not same and (kin := max((kinship for source in known if (kinship := _kin(old, new, source))), default=None)):
            parted = old.time_of(kin.shared, newest)
        elif not same:
            same = _same(old, new, known, newest)
    if same:
        return same
    with transaction(new):
        if _known(new, old) != known:
            raise overtaken(old)
        return _parted(old, new, kin, parted) if kin else _added(old, new, last=0, since=0)


def keep(new: sqlite3.Connection, source: int, events: Iterable[OldEvent]) -> None:
    """Marks the events as imported, inside the same transaction."""
    new.executemany(
        "INSERT INTO toolguard_taken (source, event, mark) VALUES (?, ?, ?)", [(source, *one[:2]) for one in events]
    )


def _known(new: sqlite3.Connection, old: OldPlugin) -> list[ImportedDatabase]:
    known = "SELECT id, last_event, since FROM toolguard_sources WHERE kind = ? AND made = ? ORDER BY id"
    return [ImportedDatabase(*row) for row in new.execute(known, (KIND, old.made))]


def _added(old: OldPlugin, new: sqlite3.Connection, last: int, since: int) -> ImportedDatabase:
    row = (KIND, old.made, last, since)
    added = new.execute("INSERT INTO toolguard_sources (kind, made, last_event, since) VALUES (?, ?, ?, ?)", row)
    return ImportedDatabase(int(added.lastrowid or 0), last, since)


def _parted(old: OldPlugin, new: sqlite3.Connection, kin: _Kin, at: int) -> ImportedDatabase:
    source = _added(old, new, kin.shared, at)
    shared = (
        "INSERT INTO toolguard_taken (source, event, mark) SELECT ?, event, mark FROM toolguard_taken"
        " WHERE source = ? AND event <= ?"
    )
    new.execute(shared, (source.id, kin.source.id, kin.shared))
    return source


def _marked(old: OldPlugin, new: sqlite3.Connection, known: list[ImportedDatabase]) -> ImportedDatabase | None:
    latest = [(next(old.back_from(source.last), None), source) for source in known]
    return max(
        ((event[0], source) for event, source in latest if event and _is_taken(new, source, *event)), default=(0, None)
    )[1]


def _same(old: OldPlugin, new: sqlite3.Connection, known: list[ImportedDatabase], newest: int) -> ImportedDatabase | None:
    eventless = (source for source in known if next(old.back_from(source.last), None) is None)
    fitting = [source for source in eventless if _says_what_was_taken(old, new, source, newest)]
    return max(fitting, key=lambda source: source.last, default=None)


def _kin(old: OldPlugin, new: sqlite3.Connection, source: ImportedDatabase) -> _Kin | None:
    marks = old.back_from(source.last)
    return next((_Kin(event, source) for event, mark in marks if _is_taken(new, source, event, mark)), None)


def _is_taken(new: sqlite3.Connection, source: ImportedDatabase, event: int, mark: int) -> bool:
    marked = "SELECT 1 FROM toolguard_taken WHERE source = ? AND event = ? AND mark = ?"
    return new.execute(marked, (source.id, event, mark)).fetchone() is not None


def _says_what_was_taken(old: OldPlugin, new: sqlite3.Connection, source: ImportedDatabase, newest: int) -> bool:
    new.execute("DROP TABLE IF EXISTS temp.matching")
    new.execute(_TABLE)
    new.execute("BEGIN")
    for length in ROLLUPS.values():
        rows = ((length, one.at, one.gateway, one.model, one.calls) for one in old.sums(length, newest) if one is not None)
        new.executemany(_ADD_SUM, rows)
    new.execute("COMMIT")
    asked = ({"source": source.id, "since": source.since, "length": length} for length in ROLLUPS.values())
    return not any(new.execute(_OTHERWISE[table], values).fetchone() for table, values in zip(ROLLUPS, asked, strict=True))


_TABLE = """
    CREATE TEMP TABLE matching (
        length INTEGER, at INTEGER, gateway TEXT, model TEXT, calls INTEGER, PRIMARY KEY (length, at, gateway, model)
    ) WITHOUT ROWID"""

_ADD_SUM = """
    INSERT INTO temp.matching (length, at, gateway, model, calls) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (length, at, gateway, model) DO UPDATE SET calls = calls + excluded.calls"""


def _otherwise(table: str) -> str:
    """Finds a row of the imported hours or days that differs from the file, within the time that the file still covers."""
    return f"""
        SELECT 1
        FROM (
            SELECT at, gateway, model, sum(calls) AS calls FROM {table}
            WHERE source = :source AND at > :since AND at >= (SELECT min(at) FROM temp.matching WHERE length = :length)
            GROUP BY at, gateway, model
        ) AS taken
        LEFT JOIN temp.matching ON matching.length = :length
            AND matching.at = taken.at AND matching.gateway = taken.gateway AND matching.model = taken.model
        WHERE coalesce(matching.calls, 0) < taken.calls
            OR (matching.calls > taken.calls AND taken.at < (SELECT max(at) FROM {table} WHERE source = :source) - {DAY_MS})
        LIMIT 1
        """  # noqa: S608 - names of tables and columns


_OTHERWISE = {table: _otherwise(table) for table in ROLLUPS}
