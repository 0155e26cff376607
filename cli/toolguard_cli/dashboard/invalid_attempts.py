"""The limit of invalid links or tokens."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from threading import Lock

MOST_INVALID = 20
WITHIN_SECONDS = 60.0


class InvalidAttempts:
    """Invalid attempts: after `MOST_INVALID` of them in this time, from anywhere, no more is said. Valid ones go on: nobody
    can guess one, and whoever sends invalid ones could otherwise keep a person out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._at: deque[float] = deque(maxlen=MOST_INVALID)

    def note(self) -> None:
        with self._lock:
            self._at.append(self._clock())

    def is_limited(self) -> bool:
        with self._lock:
            return len(self._at) == MOST_INVALID and self._clock() - self._at[0] < WITHIN_SECONDS
