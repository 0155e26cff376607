"""Keys of the terminal, one by one and without echo."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

POLL_SECONDS = 0.1
ESCAPE_SECONDS = 0.05
"""Within which the rest of an arrow key follows its first character, which is Esc on its own."""

ESCAPE = b"\x1b"


def can_be_read() -> bool:
    """Whether there is a terminal that shows a screen and tells which key was pressed."""
    if os.environ.get("TERM", "dumb") in ("", "dumb") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    import termios  # noqa: PLC0415 - takes time, and is needed on a terminal only

    try:
        termios.tcgetattr(sys.stdin.fileno())
    except (OSError, ValueError, termios.error):
        return False
    return True


@contextmanager
def reading() -> Iterator[Callable[[], str]]:
    """Gives what returns the keys pressed within the next moment; restores the terminal, also on SIGTERM."""
    import termios  # noqa: PLC0415 - as above
    import tty  # noqa: PLC0415 - as above

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    ended = signal.signal(signal.SIGTERM, _end)
    try:
        tty.setcbreak(terminal)
        yield lambda: _typed(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, ended)


def _typed(terminal: int) -> str:
    """Raises `KeyboardInterrupt` if the terminal is gone."""
    if not select.select([terminal], [], [], POLL_SECONDS)[0]:
        return ""
    data = os.read(terminal, 64)
    if not data:
        raise KeyboardInterrupt
    if data.endswith(ESCAPE) and select.select([terminal], [], [], ESCAPE_SECONDS)[0]:
        data += os.read(terminal, 64)
    return data.decode(errors="replace")


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
