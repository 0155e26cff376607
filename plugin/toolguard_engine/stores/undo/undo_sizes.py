"""How much all that can be undone takes, and what of it is the oldest: up to 100,000 entries, each in 72 bytes."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Collection

_HEAD = struct.Struct(">dQ")
"""The time and the size of an entry, before its name. Numbers that begin with their greatest byte are in order as bytes,
too, if they are not negative."""

_MOST = 1 << 62


class UndoSizes:
    """The entries by their age. `total`: the bytes that they take."""

    def __init__(self) -> None:
        self.total = 0
        self._entries: list[bytes] = []
        """A heap."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, name: str, at: float, size: int) -> None:
        size = min(max(0, size), _MOST)
        heapq.heappush(self._entries, _HEAD.pack(max(0.0, at), size) + name.encode("utf-8", "surrogateescape"))
        self.total += size

    def oldest(self) -> tuple[str, float]:
        """Its name and its time. Raises `IndexError` if there is none."""
        first = self._entries[0]
        return _name(first), _HEAD.unpack_from(first)[0]

    def drop_oldest(self) -> None:
        """Raises `IndexError` if there is none."""
        self.total -= _size(heapq.heappop(self._entries))

    def keep(self, names: Collection[str]) -> set[str]:
        """Forgets all entries but these, and returns the names of those that are left."""
        kept = {name: entry for entry in self._entries if (name := _name(entry)) in names}
        self._entries = sorted(kept.values())
        self.total = sum(map(_size, self._entries))
        return set(kept)


def _name(entry: bytes) -> str:
    return entry[_HEAD.size :].decode("utf-8", "surrogateescape")


def _size(entry: bytes) -> int:
    return int(_HEAD.unpack_from(entry)[1])
