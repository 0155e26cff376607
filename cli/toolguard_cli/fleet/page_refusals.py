"""What the database refuses, as answers of the page."""

from __future__ import annotations

from toolguard_cli.dashboard.problems import ApiError
from toolguard_fleet.fleet_errors import FleetError, UnreachableError

LOGIN = "log in with a token; an admin creates one with `toolguard fleet tokens add`"
UNREACHABLE = "the fleet's database cannot be reached"
"""Visitors who have not logged in get this too: it names no host and no login."""

STATUSES = {
    "TG001": (404, "unknown"),
    "TG010": (403, "role"),
    "TG011": (403, "team"),
    "22023": (422, "values"),
    "22P02": (422, "values"),
    "22003": (422, "values"),
}
REFUSED, NOT_LOGGED_IN, CANCELLED, LOCKED = "TG012", "TG030", "57014", "55P03"
CAUSES = {
    "unknown": "no such call is waiting in your teams",
    "used": "the call was approved and has run",
    "denied": "the call has already been denied",
    "expired": "the call has expired",
    "approved": "the call has all the approvals it needs",
    "again": "you have decided on this call too many times",
    "requester": "the person who requested a call cannot approve it",
}
SCHEMA = ("3F000", "42883", "42P01")


def explain(error: FleetError) -> ApiError:
    message, code = primary(error), error.code
    if isinstance(error, UnreachableError):
        return ApiError(503, "database", UNREACHABLE, "see the log of the dashboard's server")
    if code == NOT_LOGGED_IN:
        return ApiError(401, "login", message, LOGIN)
    if code == REFUSED:
        cause = message.removeprefix("refused: ")
        text = CAUSES.get(cause, "the call cannot be approved or denied")
        return ApiError(409, cause if cause in CAUSES else "refused", text)
    if code == CANCELLED:
        return ApiError(503, "slow", "the database took too long", "choose a shorter period or more filters")
    if code == LOCKED:
        return ApiError(409, "busy", "somebody else is changing this", "try again")
    if code in SCHEMA:
        return ApiError(503, "schema", "the database has a different schema version", "run `toolguard fleet migrate`")
    status, name = STATUSES.get(code, (502, "database"))
    return ApiError(status, name, message if code in STATUSES else "the database returned an invalid answer")


def primary(error: FleetError) -> str:
    """The message without what PostgreSQL adds about the place in its functions."""
    return str(error).partition(" CONTEXT: ")[0].partition(" DETAIL: ")[0].strip()
