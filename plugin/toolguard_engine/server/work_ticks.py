"""The timer of the process behind `model.work_timer`.

It counts processor time of the whole process, so an engine that waits gets no signal. Python runs the handler in the main
thread, between two instructions of it or from within a regular expression; nothing that the judging code does keeps it away.
"""

from __future__ import annotations

import signal
import time
from types import FrameType

from toolguard_engine.model.work_timer import WorkTimer

EVERY = 0.02
"""Seconds of processor time between two looks. Each takes some microseconds."""


def start(timer: WorkTimer) -> None:
    """Starts the ticks. Must be called in the main thread, which is the one that judges."""

    def tick(_signal: int, _frame: FrameType | None) -> None:
        timer.tick(time.thread_time())

    signal.signal(signal.SIGPROF, tick)
    signal.siginterrupt(signal.SIGPROF, False)  # noqa: FBT003 - the name says it
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)


def stop() -> None:
    """Stops the ticks. Must be called before the interpreter ends: it gives up its handlers then, and the next signal would
    be a death."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, signal.SIG_IGN)
