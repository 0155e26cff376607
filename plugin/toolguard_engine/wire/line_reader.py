"""Cuts a stream of bytes into lines, with a limit on how much of an endless line is kept."""

from __future__ import annotations

from collections.abc import Iterator

KEPT_OF_LONG = 2048
"""Enough to tell which question a line was (`protocol.LEADING`)."""


class Lines:
    """`feed` bytes, iterate lines without their end. Of a line over `limit` bytes only the first `kept` are kept."""

    def __init__(self, limit: int, kept: int = KEPT_OF_LONG) -> None:
        self._limit = limit
        self._kept = kept
        self._parts: list[bytes] = []
        self._size = 0
        self._long = False

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bool]]:
        """Each finished line, and whether it was too long."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._keep(data[start:end])
            start = end + 1
            yield self._take()
        self._keep(data[start:])

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._long:
            return
        self._parts.append(part)
        if self._size > self._limit:
            self._long = True
            self._parts = [b"".join(self._parts)[: self._kept]]

    def _take(self) -> tuple[bytes, bool]:
        line, long = b"".join(self._parts), self._long
        self._parts, self._size, self._long = [], 0, False
        return line, long
