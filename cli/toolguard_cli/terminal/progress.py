"""Progress on standard error: a bar in a terminal for commands that take over a second, or a line per step."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0
"""Seconds before the bar appears."""
EVERY = 0.1


class Steps:
    """One line per step, with the seconds since the start."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"  {time.monotonic() - self._started:5.0f} s  {text}", file=sys.stderr, flush=True)  # noqa: T201


class Report(Protocol):
    """Reports the current item, and `done` of `whole`."""

    def __call__(self, what: str, done: float, whole: float) -> None: ...


@contextmanager
def reporting() -> Iterator[Report]:
    """Shows the bar during the block and removes it at the end."""
    shown = _Bar() if sys.stderr.isatty() else None
    try:
        yield shown or _silent
    finally:
        if shown:
            shown.stop()


def _silent(what: str, done: float, whole: float) -> None:
    """Used if standard error is not a terminal."""


class _Bar:
    def __init__(self) -> None:
        self._next = time.monotonic() + PATIENCE
        self._bar: Progress | None = None

    def __call__(self, what: str, done: float, whole: float) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY
        if self._bar is None:
            self._bar = _started(what, whole)
        self._bar.update(self._bar.task_ids[0], description=what, completed=done, total=whole)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _started(what: str, whole: float) -> Progress:
    from rich.console import Console  # noqa: PLC0415 - takes 60 ms to import
    from rich.progress import Progress  # noqa: PLC0415

    bar = Progress(console=Console(stderr=True), transient=True)
    bar.add_task(what, total=whole)
    bar.start()
    return bar
