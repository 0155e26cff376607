"""What judging one call may cost, counted in steps: the same call always ends in the same way, on every machine.

A step is about a microsecond. Code whose work a call can multiply spends steps as it goes. The budget grows with the text of
the call, so its cost is at most proportional to its length, and a short text that means much work (functions that call
functions, nested braces) soon runs out.
"""

from __future__ import annotations

from collections.abc import Callable

BASE = 12_000
"""Steps for any call, however short."""

PER_CHARACTER = 1
MOST = 30_000
"""Steps for any call, however long."""

SECONDS = 0.5
"""Of processor time for any call: a second limit, for work that no step counts. Waiting on a loaded machine is not work. It
begins with the first look at the clock: to ask the system for every call would take a hundredth of its time."""

_BETWEEN = 1_000
"""Steps between two looks at the clock."""


class TooIntricate(Exception):  # noqa: N818 - not an error: the budget is used up
    pass


class WorkLimit:
    """The steps left for one call. `clock`: seconds of processor time used so far; `most`: see `work_allowance`."""

    __slots__ = ("_clock", "_end", "_look", "left", "limit", "most")

    def __init__(self, clock: Callable[[], float] | None = None, most: float = MOST) -> None:
        self.most = most
        self.limit = self.left = min(float(BASE), most)
        self._clock = clock
        self._end = 0.0
        self._look = self.left - _BETWEEN

    @property
    def spent(self) -> float:
        return self.limit - self.left

    def beside(self, steps: float) -> WorkLimit:
        """Another budget for the same call, of so many steps, whatever the session has used up: a file that is not read
        could hide certain harm. The clock counts for both."""
        other = WorkLimit(self._clock)
        other.limit = other.left = steps
        other._end, other._look = self._end, other.left - _BETWEEN
        return other

    def extend(self, steps: float) -> None:
        """So many more steps, for the content of files that the call runs."""
        self.limit += steps
        self.left += steps
        self._look += steps

    def admit(self, characters: int) -> None:
        """So much more text of the call itself is read."""
        more = max(0.0, min(characters * PER_CHARACTER, self.most - self.limit))
        self.limit += more
        self.left += more
        self._look += more

    def reserve(self) -> None:
        """Reading used up the budget: what was found so far is still judged, so that certain harm is blocked, not held."""
        if self.left < 0:
            self.left = min(float(BASE), self.most)
            self.limit += self.left
            self._look = self.left - _BETWEEN

    def spend(self, steps: float) -> None:
        self.left -= steps
        if self.left < self._look:
            self._check()

    def _check(self) -> None:
        self._look = max(self.left - _BETWEEN, 0.0)
        if self.left < 0 or (self._clock is not None and self._is_late(self._clock())):
            self.left = self._look = -1.0
            raise TooIntricate

    def _is_late(self, now: float) -> bool:
        self._end = self._end or now + SECONDS
        return now > self._end
