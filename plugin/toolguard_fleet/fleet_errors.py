"""What goes wrong with the fleet's database, each as one line: what it is and what to do."""

from __future__ import annotations

QUOTA = "TG014"
"""The code where a gateway has stored all that it may in a day."""

QUOTA_RETRY = 3_600.0
"""Seconds until rows are offered again then: the day may have ended, or an admin may have raised the quota."""


class FleetError(Exception):
    """One line for a person. `code`: the SQLSTATE; empty where the server did not answer."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class UnreachableError(FleetError):
    """The server did not answer, refused the login, or its certificate is not valid."""


class BusyError(FleetError):
    """The server answered that it could not do it now: a limit of time, a lock, a conflict, no room. Nothing was changed."""


class SchemaError(FleetError):
    """The database has no toolguard schema, or one of another version."""
