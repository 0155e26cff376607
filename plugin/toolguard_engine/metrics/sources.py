"""Which imported database a file is: one that is known, a copy of one that went on by itself, or a new one.

The law: a file is known by its events, not by its path, and not by what it says of itself alone (files that were made from
one image say the same). Of every event that was taken, a mark of all that it says is kept. Of the events that a file has up
to the last one that was taken from a database:
- the newest is marked: the file is that database, moved, copied or as it was, and goes on after the last;
- only an older one is marked: both were one file until then. What came later is another database's: its later events are
  taken, and of its hours and days those that began later, because the earlier ones came with the other;
- none is marked: the file is not that database;
- there are none: they are 30 days old and gone, or never were. Then the file is that database if its hours and days say
  what was taken of them; of the last day, they may say more. Where several fit, it is the one most was taken from.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from toolguard_engine.metrics.database import MetricsError, reported
from toolguard_engine.metrics.oldplugin import Event, OldPlugin
from toolguard_engine.metrics.record import DAY_MS, ROLLUPS
from toolguard_engine.stores.transactions import transaction

KIND = "tool-guard"


class Source(NamedTuple):
    """`last`: the id up to which its events were taken. `since`: only hours and days that begin later are its own."""

    id: int
    last: int
    since: int


class _Kin(NamedTuple):
    """A database that this file was the same as until the event `shared`, the last they have in common."""

    shared: int
    source: Source


def overtaken(old: OldPlugin) -> MetricsError:
    return MetricsError.of(old.path, "is being imported, or removed again, by another process; try again")


def of(old: OldPlugin, new: sqlite3.Connection, newest: int) -> Source:
    """The database that this file is; written down where it is new. Raises `MetricsError`."""
    known = _known(new, old)
    kin, parted = None, 0
    with reported(old.path), old.unchanged():
        same = _marked(old, new, known)
        if not same and (kin := max((found for source in known if (found := _kin(old, new, source))), default=None)):
            parted = old.time_of(kin.shared, newest)
        elif not same:
            same = _told(old, new, known, newest)
    if same:
        return same
    with transaction(new):
        if _known(new, old) != known:
            raise overtaken(old)
        return _parted(old, new, kin, parted) if kin else _added(old, new, last=0, since=0)


def keep(new: sqlite3.Connection, source: int, events: Iterable[Event]) -> None:
    """Marks the events as taken, inside the transaction that takes them."""
    new.executemany(
        "INSERT INTO toolguard_taken (source, event, mark) VALUES (?, ?, ?)", [(source, *one[:2]) for one in events]
    )


def _known(new: sqlite3.Connection, old: OldPlugin) -> list[Source]:
    known = "SELECT id, last_event, since FROM toolguard_sources WHERE kind = ? AND made = ? ORDER BY id"
    return [Source(*row) for row in new.execute(known, (KIND, old.made))]


def _added(old: OldPlugin, new: sqlite3.Connection, last: int, since: int) -> Source:
    row = (KIND, old.made, last, since)
    added = new.execute("INSERT INTO toolguard_sources (kind, made, last_event, since) VALUES (?, ?, ?, ?)", row)
    return Source(int(added.lastrowid or 0), last, since)


def _parted(old: OldPlugin, new: sqlite3.Connection, kin: _Kin, at: int) -> Source:
    source = _added(old, new, kin.shared, at)
    shared = (
        "INSERT INTO toolguard_taken (source, event, mark) SELECT ?, event, mark FROM toolguard_taken"
        " WHERE source = ? AND event <= ?"
    )
    new.execute(shared, (source.id, kin.source.id, kin.shared))
    return source


def _marked(old: OldPlugin, new: sqlite3.Connection, known: list[Source]) -> Source | None:
    latest = [(next(old.back_from(source.last), None), source) for source in known]
    return max(
        ((event[0], source) for event, source in latest if event and _is_taken(new, source, *event)), default=(0, None)
    )[1]


def _told(old: OldPlugin, new: sqlite3.Connection, known: list[Source], newest: int) -> Source | None:
    eventless = (source for source in known if next(old.back_from(source.last), None) is None)
    fitting = [source for source in eventless if _says_what_was_taken(old, new, source, newest)]
    return max(fitting, key=lambda source: source.last, default=None)


def _kin(old: OldPlugin, new: sqlite3.Connection, source: Source) -> _Kin | None:
    marks = old.back_from(source.last)
    return next((_Kin(event, source) for event, mark in marks if _is_taken(new, source, event, mark)), None)


def _is_taken(new: sqlite3.Connection, source: Source, event: int, mark: int) -> bool:
    marked = "SELECT 1 FROM toolguard_taken WHERE source = ? AND event = ? AND mark = ?"
    return new.execute(marked, (source.id, event, mark)).fetchone() is not None


def _says_what_was_taken(old: OldPlugin, new: sqlite3.Connection, source: Source, newest: int) -> bool:
    new.execute("DROP TABLE IF EXISTS temp.told")
    new.execute(_TOLD)
    new.execute("BEGIN")
    for length in ROLLUPS.values():
        rows = ((length, one.at, one.gateway, one.model, one.calls) for one in old.sums(length, newest) if one is not None)
        new.executemany(_TELL, rows)
    new.execute("COMMIT")
    asked = ({"source": source.id, "since": source.since, "length": length} for length in ROLLUPS.values())
    return not any(new.execute(_OTHERWISE[table], values).fetchone() for table, values in zip(ROLLUPS, asked, strict=True))


_TOLD = """
    CREATE TEMP TABLE told (
        length INTEGER, at INTEGER, gateway TEXT, model TEXT, calls INTEGER, PRIMARY KEY (length, at, gateway, model)
    ) WITHOUT ROWID"""

_TELL = """
    INSERT INTO temp.told (length, at, gateway, model, calls) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (length, at, gateway, model) DO UPDATE SET calls = calls + excluded.calls"""


def _otherwise(table: str) -> str:
    """A row of the hours or days that were taken, of a time of which the file still tells, and tells something else."""
    return f"""
        SELECT 1
        FROM (
            SELECT at, gateway, model, sum(calls) AS calls FROM {table}
            WHERE source = :source AND at > :since AND at >= (SELECT min(at) FROM temp.told WHERE length = :length)
            GROUP BY at, gateway, model
        ) AS taken
        LEFT JOIN temp.told ON told.length = :length
            AND told.at = taken.at AND told.gateway = taken.gateway AND told.model = taken.model
        WHERE coalesce(told.calls, 0) < taken.calls
            OR (told.calls > taken.calls AND taken.at < (SELECT max(at) FROM {table} WHERE source = :source) - {DAY_MS})
        LIMIT 1
        """  # noqa: S608 - names of tables and columns


_OTHERWISE = {table: _otherwise(table) for table in ROLLUPS}
