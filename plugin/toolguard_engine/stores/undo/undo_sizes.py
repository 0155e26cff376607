"""How much all that can be undone takes, and what of it is the oldest: up to 100,000 entries, each in 24 bytes."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection

from toolguard_engine import lazy_re

_NAME = lazy_re.compile(r"[0-9a-f]{1,15}")
_MOST = 1 << 62
_GONE = 1_000
"""Entries that are gone, and still there in front of the others."""


class UndoSizes:
    """The entries by their age. `total`: the bytes that they take."""

    def __init__(self) -> None:
        self.total = 0
        self._times, self._sizes, self._names = array("d"), array("Q"), array("Q")
        self._first = 0

    def __len__(self) -> int:
        return len(self._times) - self._first

    def add(self, name: str, at: float, size: int) -> None:
        """Other names than hexadecimal numbers are not those of entries."""
        if not _NAME.fullmatch(name):
            return
        size = min(max(0, size), _MOST)
        place = bisect_right(self._times, at, self._first)
        self._times.insert(place, at)
        self._sizes.insert(place, size)
        self._names.insert(place, int(f"1{name}", 16))  # the 1 keeps the zeros behind it
        self.total += size

    def oldest(self) -> tuple[str, float]:
        """Its name and its time. Raises `IndexError` if there is none."""
        return _name(self._names[self._first]), self._times[self._first]

    def drop_oldest(self) -> None:
        """Raises `IndexError` if there is none."""
        self.total -= self._sizes[self._first]
        self._first += 1
        if self._first > _GONE:
            for kept in (self._times, self._sizes, self._names):
                del kept[: self._first]
            self._first = 0

    def keep(self, names: Collection[str]) -> set[str]:
        """Forgets all entries but these, and returns the names of those that are left."""
        left, kept = UndoSizes(), set[str]()
        for at in range(self._first, len(self._times)):
            if (name := _name(self._names[at])) in names and name not in kept:
                kept.add(name)
                left.add(name, self._times[at], self._sizes[at])
        self.total, self._first = left.total, 0
        self._times, self._sizes, self._names = left._times, left._sizes, left._names
        return kept


def _name(number: int) -> str:
    return f"{number:x}"[1:]
