"""Rows that wait to be written: a bounded queue that drops and counts the oldest while nothing can be written."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Backlog(Generic[T]):
    """Rows in order. One thread adds, another takes; neither waits for the disk. Rows that were taken stay here until `done`
    or put back."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: deque[T] = deque()
        self._lock = Lock()
        self._taken = 0
        self._lost = 0
        self._added = 0

    def __len__(self) -> int:
        return len(self._rows) + self._taken

    @property
    def passed(self) -> int:
        """How many rows were written or dropped so far."""
        with self._lock:
            return self._added - len(self)

    def add(self, rows: Sequence[T]) -> int:
        """Returns how many were added before."""
        with self._lock:
            before, self._added = self._added, self._added + len(rows)
            self._rows.extend(rows)
            self._shorten()
            return before

    def take(self, most: int) -> list[T]:
        """The oldest."""
        with self._lock:
            self._taken = min(most, len(self._rows))
            return [self._rows.popleft() for _ in range(self._taken)]

    def done(self) -> None:
        """The rows that were taken are written."""
        with self._lock:
            self._taken = 0

    def put_back(self, rows: list[T]) -> None:
        """The rows that were taken could not be written; they are the oldest again."""
        with self._lock:
            self._taken = 0
            self._rows.extendleft(reversed(rows))
            self._shorten()

    def take_lost(self) -> int:
        """How many rows were dropped since the last call."""
        with self._lock:
            lost, self._lost = self._lost, 0
        return lost

    def _shorten(self) -> None:
        while len(self._rows) > self._most:
            self._rows.popleft()
            self._lost += 1
