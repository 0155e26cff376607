"""The time that the engine goes by. It is passed in, so that tests can move it on without waiting."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def monotonic(self) -> float:
        """Seconds since an arbitrary moment; never goes back."""

    def time(self) -> float:
        """Seconds since 1970."""

    def now(self) -> datetime:
        """The same moment as a date, in UTC."""

    def worked(self) -> float:
        """Seconds of processor time that this thread has used."""


class SystemClock:
    """The clock of this machine."""

    def monotonic(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def worked(self) -> float:
        return time.thread_time()


class Every:
    """Says when something that is done at most once in `seconds` may be done again. At first it may be done at once."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self.next = -math.inf
        """When it is due, by the monotonic clock."""

    def due(self) -> bool:
        return self._clock.monotonic() >= self.next

    def restart(self) -> None:
        """It was done just now."""
        self.next = self._clock.monotonic() + self._seconds

    def expire(self) -> None:
        """It is due at once."""
        self.next = -math.inf


class Alarm:
    """Due once, `seconds` after it was last set; never while it is not set."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self.next = math.inf
        """When it is due, by the monotonic clock."""

    def due(self) -> bool:
        return self._clock.monotonic() >= self.next

    def set(self) -> None:
        self.next = self._clock.monotonic() + self._seconds

    def clear(self) -> None:
        self.next = math.inf
