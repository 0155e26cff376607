"""One gateway's writer of the metrics file: what waits, the audit log, the clean-up. `recorder` calls it from its thread.

The law: whatever is wrong with the file, rows wait (bounded) and it is tried again; nothing is lost without being told.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from toolguard_engine.config import Retention
from toolguard_engine.metrics import bounds, registry, retention
from toolguard_engine.metrics.backlog import Backlog
from toolguard_engine.metrics.database import Held, MetricsError, connect, reported
from toolguard_engine.metrics.follow import Follower
from toolguard_engine.metrics.record import Call, Verdict, record, record_verdicts
from toolguard_engine.metrics.registry import GatewayFacts
from toolguard_engine.metrics.steady import SteadyClock
from toolguard_engine.stores.transactions import transaction

EVERY = 0.5
"""Seconds between two rounds."""

WHILE_CLEANING = 0.05
AFTER_TROUBLE = 5.0
BATCH = 100
"""Rows to a transaction: so many are made while a verdict waits for its turn to run."""

NANOSECONDS = 1_000_000
"""In a millisecond."""

ALIVE_MS = 30_000
"""How often it is said that the engine lives, also while nothing happens."""

PATIENCE_MS = 30_000
"""So long another process may hold the file until that is told."""


class Writer:
    """`round` does what there is to do. `price`: estimates what a call cost; `tell`: takes what a person should know;
    `ticks`: nanoseconds of a clock that nobody sets."""

    def __init__(
        self,
        path: Path,
        facts: GatewayFacts,
        kept: Retention,
        backlog: Backlog,
        price: Callable[[Call], Call],
        tell: Callable[[str], None],
        ticks: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._path = path
        self._facts = facts
        self._kept = kept
        self._backlog = backlog
        self._price = price
        self._tell = tell
        self._ticks = ticks
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._name = ""
        self._follower: Follower | None = None
        self._cleaning: Iterator[int] | None = None
        self._clock = SteadyClock()
        self._seen = 0
        self._held_since = 0
        self._lost = 0

    def round(self, now: int) -> float:
        """Seconds until the next one; 0 where more is to be done right now. `now`: milliseconds since 1970."""
        try:
            with reported(self._path):
                connection = self._opened(now)
                self._write(connection, now)
                self._held_since = 0
                more = self._follow(connection, now)
                cleaning = self._clean(connection, now)
        except MetricsError as error:
            self._failed(error, now)
            return EVERY if isinstance(error, Held) else AFTER_TROUBLE
        finally:
            self._count_lost()
        self._say_what_was_lost()
        if more or self._backlog:
            return 0
        return WHILE_CLEANING if cleaning else EVERY

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._follower = self._cleaning = None

    def _opened(self, now: int) -> sqlite3.Connection:
        """The file; opened anew where another one stands in its place."""
        if self._connection is not None and self._inode == _inode(self._path):
            return self._connection
        self.close()
        connection = connect(self._path)
        try:
            self._name = registry.claim(connection, self._facts, now, self._kept)
        except BaseException:
            connection.close()
            raise
        self._connection, self._inode, self._seen = connection, _inode(self._path), now
        self._follower = Follower(Path(self._facts.state_dir), self._name)
        return connection

    def _write(self, connection: sqlite3.Connection, now: int) -> None:
        rows = self._backlog.take(BATCH)
        if not rows and 0 <= now - self._seen < ALIVE_MS:
            return
        try:
            calls = [bounds.call(self._price(row), now) for row in rows if isinstance(row, Call)]
            verdicts = [bounds.verdict(row, now) for row in rows if isinstance(row, Verdict)]
            with transaction(connection):
                if calls:
                    record(connection, [call._replace(gateway=self._name) for call in calls])
                if verdicts:
                    record_verdicts(connection, [verdict._replace(gateway=self._name) for verdict in verdicts])
                registry.touch(connection, self._name, self._facts, now)
        except sqlite3.Error:
            self._backlog.put_back(rows)
            raise
        except Exception:
            self._backlog.done()
            self._lost += len(rows)
            raise
        self._backlog.done()
        self._seen = now

    def _follow(self, connection: sqlite3.Connection, now: int) -> bool:
        if self._follower is None:
            return False
        try:
            return self._follower.step(connection, now, retention.taken_since(connection, self._kept, now))
        except FileNotFoundError:
            return False  # it is being replaced
        except OSError as error:
            self._tell(f"metrics: the audit log cannot be read: {error.strerror or error}")
            return False

    def _clean(self, connection: sqlite3.Connection, now: int) -> bool:
        """Whether there is more to clean."""
        steady = self._clock.steady(now, self._ticks() // NANOSECONDS)
        if self._cleaning is None and steady and retention.claim(connection, now):
            self._cleaning = retention.clean(connection, self._kept, now)
        if self._cleaning is not None and next(self._cleaning, None) is None:
            self._cleaning = None
        return self._cleaning is not None

    def _failed(self, error: MetricsError, now: int) -> None:
        self._cleaning = None
        if not isinstance(error, Held):
            self.close()
            self._tell(f"metrics: {error}")
            return
        self._held_since = self._held_since or now
        if now - self._held_since >= PATIENCE_MS:
            self._tell(f"metrics: {error}")

    def _count_lost(self) -> None:
        lost = self._backlog.take_lost()
        if lost and not self._lost:
            self._tell("metrics: nothing can be written, and too much waits: the oldest model calls and verdicts are lost")
        self._lost += lost

    def _say_what_was_lost(self) -> None:
        if self._lost:
            self._tell(f"metrics are written again; model calls and verdicts that were lost: {self._lost}")
            self._lost = 0


def _inode(path: Path) -> int:
    """0 where there is none."""
    with suppress(OSError):
        return os.stat(path).st_ino  # noqa: PTH116
    return 0
