"""Tells the gateway part that this process works while it is still importing.

An engine that says nothing for long is taken for one that hangs, and is ended. So the first line leaves before anything else
is imported, and a thread repeats it until the engine's own pipe takes over. Only modules that each Python has are imported.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

WORKING = b'{"type":"working"}\n'
"""As `messages.Working` is encoded."""
EVERY = 0.25
"""Seconds between two of them."""


class StartSignals:
    """Answers own the real standard output, the descriptor `sink`. What else prints there goes to standard error, and so
    to the gateway's log."""

    def __init__(self, *, say: bool) -> None:
        self.sink = os.dup(1)
        os.dup2(2, 1)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="starting", daemon=True) if say else None
        if self._thread:
            self._thread.start()

    def _repeat(self) -> None:
        with suppress(OSError):  # nobody reads any more
            os.write(self.sink, WORKING)
            while not self._over.wait(EVERY):
                os.write(self.sink, WORKING)

    def end(self) -> None:
        """Nothing more is said when this returns."""
        self._over.set()
        if self._thread:
            self._thread.join()
