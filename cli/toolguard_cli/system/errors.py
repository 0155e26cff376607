"""The error families of the command line.

`UserError` is an error that the user can fix: exit code 1, or 2 if the command was typed wrongly. Any other exception that
escapes a command is a bug in toolguard: exit code 3 (see `main.run`).
"""

from __future__ import annotations


class UserError(Exception):
    """`message`: the error in one line; `fix`: the next step, may be empty."""

    exit_code = 1

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class WrongOptionError(UserError):
    """A value on the command line that no state of the machine could make right."""

    exit_code = 2
