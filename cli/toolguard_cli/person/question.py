"""Asks for confirmation on the terminal. The answer is a code created for this one question, so that neither a piped `yes`
nor blindly sent keys can confirm it."""

from __future__ import annotations

import os
import secrets
import termios
from collections.abc import Sequence

TERMINAL = "/dev/tty"
CODE_LENGTH = 4
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without letters that are easily confused."""
MAX_ANSWER = 1024


class NoTerminalError(Exception):
    """The question cannot be asked; the message says why."""


def code() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))


def asked(lines: Sequence[str]) -> bool:
    """Whether the code was typed at this process's own terminal. Raises `NoTerminalError`."""
    try:
        handle = os.open(TERMINAL, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise NoTerminalError("there is no terminal") from error
    try:
        return _asked(handle, lines)
    except (OSError, termios.error) as error:
        raise NoTerminalError("its terminal cannot be used") from error
    except KeyboardInterrupt:
        return False
    finally:
        os.close(handle)


def _asked(handle: int, lines: Sequence[str]) -> bool:
    if os.tcgetpgrp(handle) != os.getpgrp():
        raise NoTerminalError("it runs in the background of its terminal")
    wanted = code()
    shown = [*(f"      {line}" for line in lines), f"Type {wanted} to confirm, or press Enter to cancel: "]
    termios.tcflush(handle, termios.TCIFLUSH)  # discards what was typed before the question
    os.write(handle, "\n".join(shown).encode())
    return os.read(handle, MAX_ANSWER).decode(errors="replace").strip().lower() == wanted
