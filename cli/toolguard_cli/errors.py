"""The two error families of the command line.

`UserError` is what the person can mend: one line that says what is wrong, and how to mend it; exit code 1.
Anything else that escapes a command is a bug in toolguard: exit code 3 (see `main.run`).
"""

from __future__ import annotations


class UserError(Exception):
    """What is wrong, in one line, and the next step in `fix` (may be empty)."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
