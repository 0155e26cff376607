"""The limit of processor time for one reading, enforced from outside of the code that reads: no loop escapes it.

Steps (`work_limit`) are what judging may cost; the same call always ends in the same way. Code that forgets to count some is
stopped here. A timer of the process calls `tick`, wherever the interpreter is at that moment, also inside a regular
expression. It stops nothing but a reading: stores and answers are never interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from toolguard_engine.model.work_limit import MOST, TooIntricate, WorkLimit

SECONDS = 0.5
"""Of processor time, from the first tick of a reading on, for a session with its whole allowance; less with less of it.
Waiting on a loaded machine is not work."""


T = TypeVar("T")


class WorkTimer:
    """`reading` is set while one is under way, see `limited`. `is_awaited`: whether a message waits for an answer."""

    __slots__ = ("_end", "_seen", "_spare", "is_awaited", "reading")

    def __init__(self) -> None:
        self.is_awaited: Callable[[], bool] = bool
        self._spare: WorkLimit | None = None
        self.reading: WorkLimit | None = None
        """The budget of the reading that is under way; None where nothing may be interrupted."""
        self._seen: WorkLimit | None = None
        self._end = 0.0

    def limited(self, work: WorkLimit, read: Callable[[], T]) -> T:
        """Does this within the limit. Whoever asks for it has to do with `TooIntricate`. No state that others rely on may be
        changed in there but in one step."""
        before = self.reading
        try:
            self.reading = before or work
            return read()
        finally:
            self.reading = before

    def in_spare_time(self, work: WorkLimit, read: Callable[[], T]) -> T:
        """The same, until somebody waits for something else."""
        self._spare = work
        try:
            return self.limited(work, read)
        finally:
            self._spare = None

    def tick(self, now: float) -> None:
        """`now`: the seconds of processor time used so far. A reading that takes too long is stopped for good, and
        `TooIntricate` is raised, again at each tick until it is over: what catches it may be another loop."""
        reading = self.reading
        if reading is None:
            return
        if reading is self._spare and self.is_awaited():
            reading.stop()
            raise TooIntricate
        if reading is not self._seen:
            self._seen, self._end = reading, now + SECONDS * min(1.0, reading.most / MOST)
        elif now > self._end:
            reading.stop()
            raise TooIntricate
