"""Imports the metrics of the plugin that toolguard replaces, from the same file or another; its tables are not changed.

Invariants, so that nothing counts twice:
- Events are imported in the order of their ids, which the old plugin never reuses; the last one is stored per database.
  A file is identified by its events (sources.py).
- The old plugin keeps events 30 days, hours 90, days 365, and counts every event in its hour and day. So for an hour (day),
  gateway and model it knows at least as many calls as events were imported; if it knows more, the difference in calls,
  tokens and cost is added to our hour (day), with no provider and no agent. After an import our hours and days equal the old
  ones. The last events, the hours and the days are read as of one moment. An invalid event is not imported as a call, but
  it stays in the old sums, and so in ours.
- Every transaction leaves the file consistent: a killed process loses at most what the next run imports.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from msgspec import Struct

from toolguard_engine.metrics import old_plugin, sources
from toolguard_engine.metrics.database import MetricsError, connect, is_ours, reported
from toolguard_engine.metrics.old_plugin import OldEvent, OldPlugin, Sum
from toolguard_engine.metrics.row_writer import ADDED, DAY_MS, ROLLUPS, record
from toolguard_engine.metrics.sources import KIND
from toolguard_engine.stores.transactions import transaction

CHUNK = 5_000
"""Rows per transaction: other processes wait about 0.1 s for it."""

Progress = Callable[[int, int], None]
"""Called after every chunk of events with the number done and the number in all."""


class OldMetrics(Struct, frozen=True):
    """What the old plugin left. `first` and `last`: milliseconds since 1970, `None` if no row has a time."""

    events: int
    hours: int
    days: int
    first: int | None
    last: int | None


class Imported(Struct, frozen=True):
    """What one run imported: events, and rows of hours and days that knew of more calls than there are events.

    `skipped`: invalid rows of the old tables.
    """

    events: int
    hours: int
    days: int
    skipped: int


def find(path: Path) -> OldMetrics | None:
    """What the old plugin left in this file; `None` if nothing. Raises `MetricsError`."""
    old = old_plugin.look(path)
    if old is None:
        return None
    with closing(old), reported(path):
        return OldMetrics(*old.sizes(), *old.span(_newest()))


def run(path_old: Path, path_new: Path, progress: Progress | None = None) -> Imported:
    """Imports what was not imported yet. Raises `MetricsError`; what was imported until then stays, the next run
    continues."""
    old = old_plugin.look(path_old)
    if old is None:
        raise MetricsError.make(path_old, "holds no metrics of tool-guard")
    with closing(old), closing(connect(path_new)) as new, reported(path_new):
        _remove_rest(new)
        return _Import(old, new).run(progress or _nobody)


def undo(path_new: Path) -> int:
    """Removes all that was ever imported, and nothing else; returns the number of rows. Raises `MetricsError`."""
    if not is_ours(path_new):
        return 0
    with closing(connect(path_new)) as new, reported(path_new):
        with transaction(new):
            new.execute("UPDATE toolguard_sources SET made = NULL WHERE kind = ?", (KIND,))
        return _remove_rest(new)


class _Import:
    """One run. `_last`: the id up to which events were imported; if another run moves it too, this one ends."""

    def __init__(self, old: OldPlugin, new: sqlite3.Connection) -> None:
        self._old = old
        self._new = new
        self._newest = _newest()
        self._source, self._last, self._since = sources.identify(old, new, self._newest)
        self._skipped = 0

    def run(self, progress: Progress) -> Imported:
        with reported(self._old.path):
            wanted = self._old.waiting(self._last)
        taken = done = 0
        more = True
        while more:
            events, more = self._read()
            calls = [event.call for event in events if event.call is not None]
            with transaction(self._new):
                self._advance(events[-1].id if events else self._last)
                sources.keep(self._new, self._source, events)
                record(self._new, calls, self._source)
            self._skipped += len(events) - len(calls)
            taken, done = taken + len(calls), done + len(events)
            progress(done, max(wanted, done))
        hours, days = (self._top_up(table, length) for table, length in ROLLUPS.items())
        return Imported(taken, hours, days, self._skipped)

    def _read(self) -> tuple[list[OldEvent], bool]:
        """The next events, and whether there may be more; with the last ones, the sums as of the same moment."""
        with reported(self._old.path), self._old.unchanged():
            events = self._old.events(self._last, CHUNK, self._newest)
            more = len(events) == CHUNK
            if not more:
                self._stage()
        return events, more

    def _advance(self, last: int) -> None:
        moved = self._new.execute(
            "UPDATE toolguard_sources SET last_event = ? WHERE id = ? AND last_event = ? AND made = ?",
            (last, self._source, self._last, self._old.made),
        )
        if not moved.rowcount:
            raise sources.overtaken(self._old)
        self._last = last

    def _stage(self) -> None:
        self._new.execute(_STAGE)
        self._new.execute("BEGIN")
        for length in ROLLUPS.values():
            for sums in _chunks(self._old.sums(length, self._newest)):
                usable = [(length, *one) for one in sums if one is not None]
                self._skipped += len(sums) - len(usable)
                self._new.executemany(_PUT_ASIDE, usable)
        self._new.execute("COMMIT")

    def _top_up(self, table: str, length: int) -> int:
        """Adds what the staged sums have and ours do not; safe to repeat, because it adds only what is missing."""
        (last,) = self._new.execute("SELECT coalesce(max(id), 0) FROM temp.staged").fetchone()
        added = 0
        for first in range(1, last + 1, CHUNK):
            with transaction(self._new):
                self._advance(self._last)
                values = {
                    "source": self._source,
                    "since": self._since,
                    "length": length,
                    "first": first,
                    "end": first + CHUNK,
                }
                added += self._new.execute(_TOP_UP[table], values).rowcount
        return added


def _newest() -> int:
    """Times later than this are rejected: clocks differ, but not by more than a day."""
    return time.time_ns() // 1_000_000 + DAY_MS


def _nobody(done: int, wanted: int) -> None:
    """Ignores progress."""


_STAGE = """
    CREATE TEMP TABLE staged (
        id INTEGER PRIMARY KEY,
        length INTEGER, at INTEGER, gateway TEXT, model TEXT,
        calls INTEGER, input INTEGER, output INTEGER, total INTEGER, cost_usd REAL,
        UNIQUE (length, at, gateway, model)
    )"""

_PUT_ASIDE = """
    INSERT INTO temp.staged (length, at, gateway, model, calls, input, output, total, cost_usd)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (length, at, gateway, model) DO UPDATE SET
        calls = calls + excluded.calls, input = input + excluded.input, output = output + excluded.output,
        total = total + excluded.total, cost_usd = cost_usd + excluded.cost_usd"""


def _tops_up(table: str) -> str:
    return f"""
        INSERT INTO {table} (at, gateway, model, provider, agent, source, calls, input, output, total, priced, cost_usd)
        SELECT at, gateway, model, '', '', :source, calls, input, output, total,
            CASE WHEN cost_usd > 0 THEN calls ELSE 0 END, cost_usd
        FROM (
            SELECT known.at AS at, known.gateway AS gateway, known.model AS model,
                known.calls - coalesce(sum(ours.calls), 0) AS calls,
                max(known.input - coalesce(sum(ours.input), 0), 0) AS input,
                max(known.output - coalesce(sum(ours.output), 0), 0) AS output,
                max(known.total - coalesce(sum(ours.total), 0), 0) AS total,
                max(known.cost_usd - total(ours.cost_usd), 0) AS cost_usd
            FROM temp.staged AS known LEFT JOIN {table} AS ours
                ON ours.at = known.at AND ours.gateway = known.gateway AND ours.model = known.model
                AND ours.source = :source
            WHERE known.length = :length AND known.id >= :first AND known.id < :end AND known.at > :since
            GROUP BY known.id
        )
        WHERE calls > 0
        ON CONFLICT (at, gateway, model, provider, agent, source) DO UPDATE SET {ADDED}
        """  # noqa: S608 - names of tables and columns


_TOP_UP = {table: _tops_up(table) for table in ROLLUPS}


def _remove_rest(new: sqlite3.Connection) -> int:
    """Removes rows of sources that are being removed, including those left by a removal that was killed."""
    leaving = [source for (source,) in new.execute("SELECT id FROM toolguard_sources WHERE made IS NULL")]
    return sum(_remove(new, source) for source in leaving)


def _remove(new: sqlite3.Connection, source: int) -> int:
    (last,) = new.execute("SELECT coalesce(max(id), 0) FROM toolguard_calls").fetchone()
    removed = 0
    for first in range(0, last + 1, CHUNK):
        with transaction(new):
            window = "DELETE FROM toolguard_calls WHERE id >= ? AND id < ? AND source = ?"
            removed += new.execute(window, (first, first + CHUNK, source)).rowcount
    with transaction(new):
        removed += new.execute("DELETE FROM toolguard_hours WHERE source = ?", (source,)).rowcount
        removed += new.execute("DELETE FROM toolguard_days WHERE source = ?", (source,)).rowcount
        new.execute("DELETE FROM toolguard_sessions WHERE source = ?", (source,))
        new.execute("DELETE FROM toolguard_taken WHERE source = ?", (source,))
        new.execute("DELETE FROM toolguard_sources WHERE id = ?", (source,))
    return removed


def _chunks(sums: Iterable[Sum | None]) -> Iterator[list[Sum | None]]:
    rest = iter(sums)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
