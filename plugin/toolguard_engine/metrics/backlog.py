"""What waits to be written: bounded; where nothing can be written for long the oldest go, and are counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from threading import Lock

from toolguard_engine.metrics.record import Call, Verdict

Row = Call | Verdict


class Backlog:
    """Rows in their order. One thread adds, another takes; neither ever waits for the disk. What was taken waits too, until
    it is `done` or put back."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: deque[Row] = deque()
        self._lock = Lock()
        self._taken = 0
        self._lost = 0

    def __len__(self) -> int:
        return len(self._rows) + self._taken

    def add(self, rows: Iterable[Row]) -> None:
        with self._lock:
            self._rows.extend(rows)
            self._shorten()

    def take(self, most: int) -> list[Row]:
        """The oldest."""
        with self._lock:
            self._taken = min(most, len(self._rows))
            return [self._rows.popleft() for _ in range(self._taken)]

    def done(self) -> None:
        """What was taken is written."""
        with self._lock:
            self._taken = 0

    def put_back(self, rows: list[Row]) -> None:
        """They could not be written; they are the oldest again."""
        with self._lock:
            self._taken = 0
            self._rows.extendleft(reversed(rows))
            self._shorten()

    def take_lost(self) -> int:
        """How many went since this was last asked."""
        with self._lock:
            lost, self._lost = self._lost, 0
        return lost

    def _shorten(self) -> None:
        while len(self._rows) > self._most:
            self._rows.popleft()
            self._lost += 1
