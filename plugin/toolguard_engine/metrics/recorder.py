"""Writes metrics beside the decisions: a thread of the engine, for which no verdict waits but for its turn to run. It works
in small pieces with a breath between them, and the interpreter changes threads more often than it does by itself.

What is added is in the file after half a second; what was added before the engine's input ended, is written before it ends.
Another process that holds the file, or a file that cannot be used, delays nothing but the metrics.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread

from toolguard_engine.config import MetricsConfig
from toolguard_engine.metrics.backlog import Backlog
from toolguard_engine.metrics.record import Call, Verdict
from toolguard_engine.metrics.registry import GatewayFacts
from toolguard_engine.metrics.writer import AFTER_TROUBLE, Writer

MAX_WAITING = 50_000
"""Rows: some 50 MB."""

MAX_TOLD = 20
LAST_SECONDS = 1.5
"""How long the end of an engine may take for what was not written yet: less than the gateway waits for it (`engine.mjs`)."""

LAST_POLL = 0.05
BREATH = 0.01
"""Seconds between two pieces of what is to be written at once."""

TURN = 0.0005
"""Seconds after which a thread that runs makes way for one that waits; 0.005 where nobody says so."""


class Recorder:
    """Begins at once; `close` ends it."""

    def __init__(self, path: Path, facts: GatewayFacts, settings: MetricsConfig, price: Callable[[Call], Call]) -> None:
        self._backlog = Backlog(MAX_WAITING)
        self._told: deque[str] = deque()
        self._ending = Event()
        self._writer = Writer(path, facts, settings.retention, self._backlog, price, self._tell)
        sys.setswitchinterval(TURN)
        self._thread = Thread(target=self._run, name="metrics", daemon=True)
        self._thread.start()

    def add(self, calls: Sequence[Call], verdicts: Sequence[Verdict]) -> None:
        """At once, whatever the file is doing."""
        if calls or verdicts:
            self._backlog.add((*calls, *verdicts))

    def take_told(self) -> list[str]:
        """What a person should know, for the gateway's log."""
        return [self._told.popleft() for _ in range(len(self._told))]

    def close(self, seconds: float = LAST_SECONDS) -> None:
        """Writes what waits, if that can be done in this time."""
        self._ending.set()
        self._thread.join(seconds)
        if self._backlog:
            self._tell(f"metrics: the engine ended before the last {len(self._backlog)} rows could be written")

    def _run(self) -> None:
        pause = 0.0
        while not self._ending.wait(pause or BREATH):
            pause = self._round()
        until = time.monotonic() + LAST_SECONDS
        while (pause := self._round()) < AFTER_TROUBLE and time.monotonic() < until:
            if pause:
                if not self._backlog:
                    break
                time.sleep(LAST_POLL)
        self._writer.close()

    def _round(self) -> float:
        try:
            return self._writer.round(time.time_ns() // 1_000_000)
        except Exception as error:  # noqa: BLE001 - a bug here must not end the recording for good
            frame = traceback.extract_tb(error.__traceback__)[-1]
            self._tell(f"metrics: {type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}; please report this")
            return AFTER_TROUBLE

    def _tell(self, text: str) -> None:
        if text not in self._told and len(self._told) < MAX_TOLD:
            self._told.append(text)
