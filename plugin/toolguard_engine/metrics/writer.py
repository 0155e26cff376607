"""One gateway's writer of the metrics file: queued rows, the audit log, the clean-up. `recorder` calls it from its thread.

Invariant: if the file cannot be used, rows are queued (bounded) and the write is retried; a loss is always reported.
"""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from toolguard_engine.config.settings import Retention
from toolguard_engine.metrics import bounds, registry, retention
from toolguard_engine.metrics.backlog import Backlog
from toolguard_engine.metrics.database import LockedDatabase, MetricsError, connect, reported
from toolguard_engine.metrics.follow import Follower
from toolguard_engine.metrics.limit_sums import LimitSums
from toolguard_engine.metrics.registry import GatewayFacts
from toolguard_engine.metrics.row_writer import CallRecord, VerdictRecord, record, record_verdicts
from toolguard_engine.metrics.steady_clock import SteadyClock
from toolguard_engine.stores.transactions import transaction

EVERY = 0.5
"""Seconds between two rounds."""

WHILE_CLEANING = 0.05
AFTER_TROUBLE = 5.0
BATCH = 100
"""Rows per transaction: written while a verdict waits for the interpreter lock."""

NANOSECONDS = 1_000_000
"""Per millisecond."""

ALIVE_MS = 30_000
"""How often the engine's row is updated, also while nothing happens."""

PATIENCE_MS = 30_000
"""How long another process may hold the file before it is reported."""


class Writer:
    """`round` does one round of work. `price` estimates the cost of a call; `tell` takes messages for the user; `ticks`:
    nanoseconds of a monotonic clock."""

    def __init__(
        self,
        path: Path,
        facts: GatewayFacts,
        kept: Retention,
        backlog: Backlog[CallRecord | VerdictRecord],
        price: Callable[[CallRecord], CallRecord],
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
        self.sums: LimitSums | None = None
        """Kept up to date, if there is one."""
        self._summed = -math.inf
        self._has_calls = False
        """Whether model calls were written since then."""
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
        """Seconds until the next round; 0 if there is more to do now. `now`: milliseconds since 1970."""
        try:
            with reported(self._path):
                connection = self._opened(now)
                self._write(connection, now)
                self._held_since = 0
                self._sum(connection, now)
                more = self._follow(connection, now)
                cleaning = self._clean(connection, now)
        except MetricsError as error:
            self._failed(error, now)
            if self.sums:
                self.sums.only_period(now, self._ticks() // NANOSECONDS, self._backlog.passed)
            return EVERY if isinstance(error, LockedDatabase) else AFTER_TROUBLE
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
        """The file; reopened if it was replaced."""
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
            calls = [bounds.call(self._price(row), now) for row in rows if isinstance(row, CallRecord)]
            verdicts = [bounds.verdict(row, now) for row in rows if isinstance(row, VerdictRecord)]
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
        self._has_calls |= bool(calls)

    def _sum(self, connection: sqlite3.Connection, now: int) -> None:
        """What is used of the limits: while nothing waits to be written, and otherwise every half second."""
        ticks = self._ticks() // NANOSECONDS
        if self.sums and (not self._backlog or ticks - self._summed >= EVERY * 1000):
            self.sums.read(connection, self._name, now, ticks, self._backlog.passed, warns=self._has_calls)
            self._summed, self._has_calls = ticks, False

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
        if not isinstance(error, LockedDatabase):
            self.close()
            self._tell(f"metrics: {error}")
            return
        self._held_since = self._held_since or now
        if now - self._held_since >= PATIENCE_MS:
            self._tell(f"metrics: {error}")

    def _count_lost(self) -> None:
        lost = self._backlog.take_lost()
        if lost and not self._lost:
            text = "nothing can be written, and too much is waiting: the oldest model calls and verdicts are lost"
            self._tell(f"metrics: {text}")
        self._lost += lost

    def _say_what_was_lost(self) -> None:
        if self._lost:
            self._tell(f"metrics are written again; model calls and verdicts that were lost: {self._lost}")
            self._lost = 0


def _inode(path: Path) -> int:
    """0 if there is none."""
    with suppress(OSError):
        return os.stat(path).st_ino  # noqa: PTH116
    return 0
