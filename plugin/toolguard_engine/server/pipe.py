"""The two pipes to the gateway part, as the loop sees them.

While the loop is busy for long, a thread says so (`messages.Working`): the gateway part ends engines that are silent.
"""

from __future__ import annotations

import math
import os
import select
import threading
import time
from contextlib import suppress
from typing import Protocol

from toolguard_engine.wire import messages

CHUNK = 1 << 18
WORKING_SECONDS = 0.1
"""So long the loop is busy before it is said, and again after as long."""
RESTS_AFTER = 100
"""After so many looks that found the loop waiting, the thread waits as well."""


class Pipe(Protocol):
    def ready(self, seconds: float, other: int = -1) -> bool:
        """Whether `read` would return at once; waits for that no longer than `seconds`, nor than until there is something
        to read from the descriptor `other`."""

    def read(self) -> bytes:
        """The next bytes, waiting for them as long as it takes; empty once the input has ended."""

    def write(self, data: bytes) -> None:
        """Writes all of it. Raises `BrokenPipeError` where nobody reads."""


class DescriptorPipe:
    """Two file descriptors."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._writes = threading.Lock()
        self._is_waiting = False
        self._rounds = 0
        """How often the loop went back to work."""
        self._rests: threading.Event | None = None

    def ready(self, seconds: float, other: int = -1) -> bool:
        sources = [self._source] if other < 0 else [self._source, other]
        self._is_waiting = True
        readable = select.select(sources, [], [], None if seconds == math.inf else seconds)[0]
        self._work()
        return self._source in readable

    def read(self) -> bytes:
        self._is_waiting = True
        data = os.read(self._source, CHUNK)
        self._work()
        return data

    def _work(self) -> None:
        self._is_waiting = False
        self._rounds += 1
        if self._rests is not None:
            self._rests.set()

    def write(self, data: bytes) -> None:
        with self._writes:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._sink, rest) :]

    def watch(self) -> None:
        """Starts the watch: from here on a thread says when the loop is busy for long."""
        threading.Thread(target=self._watch, name="working", daemon=True).start()

    def _watch(self) -> None:
        line, last, idle = messages.encode(messages.Working()), -1, 0
        with suppress(OSError):  # nobody reads any more
            while True:
                time.sleep(WORKING_SECONDS)
                now, is_waiting = self._rounds, self._is_waiting
                idle = idle + 1 if is_waiting and now == last else 0
                if now == last and not is_waiting:
                    self.write(line)
                elif idle > RESTS_AFTER:
                    self._rest()
                last = now

    def _rest(self) -> None:
        self._rests = rests = threading.Event()
        if self._is_waiting:
            rests.wait()
        self._rests = None
