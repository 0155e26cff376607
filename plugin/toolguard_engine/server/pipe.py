"""The two pipes to the gateway part, as the loop sees them."""

from __future__ import annotations

import os
import select
from typing import Protocol

CHUNK = 1 << 18


class Pipe(Protocol):
    def ready(self, seconds: float) -> bool:
        """Whether `read` would return at once; waits for that no longer than `seconds`."""

    def read(self) -> bytes:
        """The next bytes, waiting for them as long as it takes; empty once the input has ended."""

    def write(self, data: bytes) -> None:
        """Writes all of it. Raises `BrokenPipeError` where nobody reads."""


class DescriptorPipe:
    """Two file descriptors."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink

    def ready(self, seconds: float) -> bool:
        return bool(select.select([self._source], [], [], seconds)[0])

    def read(self) -> bytes:
        return os.read(self._source, CHUNK)

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._sink, rest) :]
