"""Keys of the terminal, one by one and without echo."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from toolguard_cli.terminal import key_sequences
from toolguard_cli.terminal.key_sequences import ESCAPE

POLL_SECONDS = 0.1
ESCAPE_SECONDS = 0.05
"""Within which the rest of an arrow key follows its first character, which is Esc on its own."""

READ, MOST = 4096, 65536
"""Bytes that are read at a time, and at once."""


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
def reading() -> Iterator[Callable[[], list[str]]]:
    """Gives what returns the keys pressed within the next moment; restores the terminal, also on SIGTERM.

    What was typed and not read is discarded at both ends: it answers no later question and is no command of the shell.
    """
    import termios  # noqa: PLC0415 - as above
    import tty  # noqa: PLC0415 - as above

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    ended = signal.signal(signal.SIGTERM, _end)
    try:
        tty.setcbreak(terminal)
        yield _Keyboard(terminal).pressed
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        signal.signal(signal.SIGTERM, ended)


def discard_typed() -> None:
    """Forgets what was typed until now, if the standard input is a terminal."""
    if not sys.stdin.isatty():
        return
    import termios  # noqa: PLC0415 - as above

    with suppress(OSError, ValueError, termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


class _Keyboard:
    """The keys of a terminal, whole: a sequence may arrive in several parts."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._begun = ""
        self._was_esc = False

    def pressed(self) -> list[str]:
        """All that were pressed at once. Raises `KeyboardInterrupt` if the terminal is gone."""
        is_open = self._begun == ESCAPE and not self._was_esc
        if not select.select([self._terminal], [], [], ESCAPE_SECONDS if is_open else POLL_SECONDS)[0]:
            self._was_esc = self._was_esc or is_open
            return key_sequences.keys(ESCAPE) if is_open else []
        data = self._read()
        if self._was_esc and not data.startswith(key_sequences.INTRODUCERS):
            self._begun = ""  # else the rest of an arrow key is late
        self._was_esc = False
        found, self._begun = key_sequences.received(self._begun + data)
        return found

    def _read(self) -> str:
        """All that is there, so that the end of a pasted text does not look like a key pressed on its own."""
        data = os.read(self._terminal, READ)
        if not data:
            raise KeyboardInterrupt
        while len(data) < MOST and select.select([self._terminal], [], [], 0)[0] and (more := os.read(self._terminal, READ)):
            data += more
        return data.decode(errors="replace")


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
