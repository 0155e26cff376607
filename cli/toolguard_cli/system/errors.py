"""The two error families of the command line.

`UserError` is an error that the user can fix: exit code 1. Any other exception that escapes a command is a bug in toolguard:
exit code 3 (see `main.run`).
"""

from __future__ import annotations


class UserError(Exception):
    """`message`: the error in one line; `fix`: the next step, may be empty."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
