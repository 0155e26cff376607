"""What judging one call may cost, counted in steps: the same call always ends in the same way, on every machine.

A step is about a microsecond. Code whose work a call can multiply spends steps as it goes. The budget grows with the text of
the call, so its cost is at most proportional to its length, and a short text that means much work (functions that call
functions, nested braces) soon runs out.
"""

from __future__ import annotations

import math

BASE = 12_000
"""Steps for any call, however short."""

PER_CHARACTER = 6
MOST = 60_000
"""Steps for any call, however long."""


BUILT = 64
"""Characters of a text that is built while a call is read, for one step. Copying them takes much less, but they are kept: so
all texts that are built for a call have a few megabytes at most."""


def steps_to_build(characters: int) -> int:
    """What every text pays that is joined, copied, repeated, filled in or decoded while a call is read, whatever reads it:
    the shell's words and outputs, the values of code. So their length and number are in proportion to the call."""
    return characters // BUILT


class TooIntricate(Exception):  # noqa: N818 - not an error: the budget is used up
    pass


class WorkLimit:
    """The steps left for one call. `most`: see `work_allowance`."""

    __slots__ = ("_others", "files", "is_stopped", "left", "limit", "most")

    def __init__(self, most: float = MOST) -> None:
        self.most = most
        self.limit = self.left = min(float(BASE), most)
        self.is_stopped = False
        """Whether its reading took too much time. That is a fact of the call: nothing of it is read any further."""
        self.files: WorkLimit | None = None
        """The budget for the content of all files that the call runs, however often it is read; None while it runs none."""
        self._others: list[WorkLimit] = []

    @property
    def spent(self) -> float:
        return self.limit - self.left

    def beside(self, steps: float) -> WorkLimit:
        """Another budget for the same call, of so many steps, whatever the session has used up: a file that is not read
        could hide certain harm. What stops one stops both."""
        other = WorkLimit()
        other.limit = other.left = steps
        self._others.append(other)
        if self.is_stopped:
            other.stop()
        return other

    def stop(self) -> None:
        """Whoever spends anything from here on is told so."""
        self.is_stopped = True
        self.left = -math.inf
        for other in self._others:
            other.stop()

    def extend(self, steps: float) -> None:
        """So many more steps, for the content of files that the call runs."""
        self.limit += steps
        self.left += steps

    def admit(self, characters: int) -> None:
        """So much more text of the call itself is read."""
        more = max(0.0, min(characters * PER_CHARACTER, self.most - self.limit))
        self.limit += more
        self.left += more

    def reserve(self) -> None:
        """The call is read. If that used up the budget, or nearly so, what was found is still judged: certain harm is
        blocked, and what is held is held for what it does."""
        left = max(0.0, self.left)
        missing = min(float(BASE), self.most) - left
        if missing > 0 and not self.is_stopped:
            self.left = left + missing
            self.limit += missing

    def spend_at_once(self, steps: float) -> None:
        """`spend` for work that is done as a whole or not at all. What is not begun costs nothing, so what is left is there
        for something else: a call that is held all the same may be held for what it does."""
        if self.left < steps:
            raise TooIntricate
        self.spend(steps)

    def spend(self, steps: float) -> None:
        self.left -= steps
        if self.left < 0:
            if not self.is_stopped:
                self.left = -1.0
            raise TooIntricate
