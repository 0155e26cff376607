"""How far a long command is, on standard error: a bar, where a person looks at it and only once it takes over a second; or,
for what takes a minute, a line for each step."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0
"""Seconds without a bar."""
EVERY = 0.1


class Steps:
    """One line per step, with the seconds since the start."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"  {time.monotonic() - self._started:5.0f} s  {text}", file=sys.stderr, flush=True)  # noqa: T201


class Tell(Protocol):
    """Says what is worked on, and how much of how much is done."""

    def __call__(self, what: str, done: float, whole: float) -> None: ...


@contextmanager
def told() -> Iterator[Tell]:
    """The bar, for the time of the block; gone at its end."""
    shown = _Bar() if sys.stderr.isatty() else None
    try:
        yield shown or _silent
    finally:
        if shown:
            shown.stop()


def _silent(what: str, done: float, whole: float) -> None:
    """Nobody looks."""


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
    from rich.console import Console  # noqa: PLC0415 - 60 ms that only a long command needs
    from rich.progress import Progress  # noqa: PLC0415

    bar = Progress(console=Console(stderr=True), transient=True)
    bar.add_task(what, total=whole)
    bar.start()
    return bar
