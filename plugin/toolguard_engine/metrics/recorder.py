"""Writes metrics in a thread of the engine. No verdict waits for it except for the interpreter lock: it works in small
pieces with pauses, and the interpreter switches threads more often than by default.

Rows are in the file after half a second; rows added before the end of the engine's input are written before the engine ends.
A file that is held by another process, or unusable, delays only the metrics.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread

from toolguard_engine.config.settings import MetricsConfig
from toolguard_engine.config.spending_limits import SpendingCap
from toolguard_engine.metrics.backlog import Backlog
from toolguard_engine.metrics.limit_sums import LimitSums, NearLimit
from toolguard_engine.metrics.registry import GatewayFacts
from toolguard_engine.metrics.row_writer import CallRecord, VerdictRecord
from toolguard_engine.metrics.writer import AFTER_TROUBLE, Writer
from toolguard_engine.model.counted_sums import CountedSums

MAX_WAITING = 50_000
"""Rows: some 50 MB."""

MAX_REPORTS = 20
LAST_SECONDS = 1.5
"""How long an ending engine may take for rows not written yet: less than the gateway waits for it (`engine.mjs`)."""

LAST_POLL = 0.05
BREATH = 0.01
"""Seconds between two pieces of work."""

TURN = 0.0005
"""Seconds after which a running thread yields to a waiting one; Python's default is 0.005."""


class Recorder:
    """Starts at once; `close` ends it."""

    def __init__(
        self,
        path: Path,
        facts: GatewayFacts,
        settings: MetricsConfig,
        price: Callable[[CallRecord], CallRecord],
        caps: Sequence[SpendingCap] = (),
    ) -> None:
        self._backlog = Backlog[CallRecord | VerdictRecord](MAX_WAITING)
        self._reports: deque[str] = deque()
        self._ending, self._news = Event(), Event()
        self._sums = LimitSums(caps) if caps else None
        self._writer = Writer(path, facts, settings.retention, self._backlog, price, self._tell)
        self._writer.sums = self._sums
        sys.setswitchinterval(TURN)
        self._thread = Thread(target=self._run, name="metrics", daemon=True)
        self._thread.start()

    def add(self, calls: Sequence[CallRecord], verdicts: Sequence[VerdictRecord]) -> int:
        """Returns at once, whatever the state of the file: how many rows were added before."""
        return self._backlog.add((*calls, *verdicts))

    @property
    def sums(self) -> CountedSums | None:
        """What is used of the limits, as it was last read."""
        return self._sums.latest if self._sums else None

    def take_near(self) -> list[NearLimit]:
        """The warnings that this engine has to give, each once."""
        return [self._sums.near.popleft() for _ in range(len(self._sums.near))] if self._sums else []

    def hurry(self) -> None:
        """Writes and reads without the usual pause: a limit is close."""
        self._news.set()

    def take_reports(self) -> list[str]:
        """Messages for the gateway's log."""
        return [self._reports.popleft() for _ in range(len(self._reports))]

    def close(self, seconds: float = LAST_SECONDS) -> None:
        """Writes waiting rows, if that can be done in this time."""
        self._ending.set()
        self._news.set()
        self._thread.join(seconds)
        if self._backlog:
            self._tell(f"metrics: the engine ended before the last {len(self._backlog)} rows could be written")

    def _run(self) -> None:
        pause = 0.0
        while not self._is_over(pause or BREATH):
            pause = self._round()
        until = time.monotonic() + LAST_SECONDS
        while (pause := self._round()) < AFTER_TROUBLE and time.monotonic() < until:
            if pause:
                if not self._backlog:
                    break
                time.sleep(LAST_POLL)
        self._writer.close()

    def _is_over(self, seconds: float) -> bool:
        """Whether the end has come, within this time or before there is something urgent."""
        self._news.wait(seconds)
        self._news.clear()
        return self._ending.is_set()

    def _round(self) -> float:
        try:
            return self._writer.round(time.time_ns() // 1_000_000)
        except Exception as error:  # noqa: BLE001 - a bug here must not end the recording for good
            frame = traceback.extract_tb(error.__traceback__)[-1]
            self._tell(f"metrics: {type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}; please report this")
            return AFTER_TROUBLE

    def _tell(self, text: str) -> None:
        if text not in self._reports and len(self._reports) < MAX_REPORTS:
            self._reports.append(text)
