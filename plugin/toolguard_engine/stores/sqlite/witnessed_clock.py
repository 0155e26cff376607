"""A clock that counts the seconds that engines saw pass, whatever the time of day is set to.

It is stored with what it dates, and advances by the smaller of what the system's clock and its monotonic clock have moved.
A clock that is set wrong, also before an engine starts, therefore makes nothing older. Time while no engine runs does not
count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class WitnessedClock:
    """Engines that share a store each continue from the stored value, and the furthest counts: seconds that two of them saw
    are not counted twice."""

    wall: Callable[[], float] = field(default_factory=lambda: time.time)
    ticks: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    _value: float = 0.0

    def __post_init__(self) -> None:
        self._last = self.wall(), self.ticks()

    def now(self, stored: float = 0.0) -> float:
        """`stored`: the value in the store."""
        before, self._last = self._last, (self.wall(), self.ticks())
        passed = min(self._last[0] - before[0], self._last[1] - before[1])
        self._value = max(self._value + max(0.0, passed), stored)
        return self._value
