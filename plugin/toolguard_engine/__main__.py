"""`python -m toolguard_engine`: started by the gateway part, speaks JSON lines on its standard streams."""

# ruff: noqa: E402 - the first signal leaves before all else is imported, and the garbage collector waits for that

from __future__ import annotations

import sys

from toolguard_engine.start_signals import StartSignals

STARTING = StartSignals(say=True) if __name__ == "__main__" and not sys.stdin.isatty() else None

import gc

if STARTING:
    gc.disable()  # nothing of what is loaded now is garbage, and looking for some takes a twentieth of the start

from toolguard_engine import spared_imports

spared_imports.load()

import os
import signal
from functools import partial
from types import FrameType

from toolguard_engine.model.work_timer import WorkTimer
from toolguard_engine.server import work_ticks
from toolguard_engine.server.composition import engine
from toolguard_engine.server.frame_room import with_room
from toolguard_engine.server.loop import Engine
from toolguard_engine.server.pipe import DescriptorPipe
from toolguard_engine.stores import system_calls

MEMORY = 1 << 30
"""Bytes of memory that the engine may use, about ten times of what it needs. A call that would need more is held."""
SWITCH_SECONDS = 0.0005
"""For which another thread may keep the loop from answering; ten times shorter than Python's own."""


def end_in_order(made: Engine, number: int, _frame: FrameType | None) -> None:
    """The input has ended, as far as the loop can see: it writes what is to be written, and leaves. Nothing that runs now is
    interrupted."""
    made.session.signalled = signal.Signals(number).name
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.close(nothing)


def keep_memory() -> None:
    """What is there now stays for good; the garbage collector needs not go through it again."""
    gc.collect()
    gc.freeze()


@with_room
def main() -> int:
    if sys.stdin.isatty():
        print("The gateway starts the engine automatically. To see how it is doing: toolguard status", file=sys.stderr)  # noqa: T201
        return 1
    # Ctrl-C in a terminal reaches the gateway's whole group. The engine leaves when the gateway closes the pipe, not before.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    starting = STARTING or StartSignals(say=False)
    system_calls.limit_memory(MEMORY)
    pipe = DescriptorPipe(0, starting.sink)
    timer = WorkTimer()
    made = engine(pipe, when_warm=keep_memory, timer=timer)
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, partial(end_in_order, made))
    work_ticks.start(timer)
    starting.end()
    pipe.watch()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()
    gc.enable()
    try:
        made.run()
    finally:
        work_ticks.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
