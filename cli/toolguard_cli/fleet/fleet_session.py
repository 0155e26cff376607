"""The fleet's database for a person's command: which one it is, and its errors for a user.

`toolguard_fleet` is imported only here and in `joining`, when a command needs it: it needs the `fleet` extra.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.system import extras
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.config.fleet_settings import has_password

if TYPE_CHECKING:
    from toolguard_fleet.fleet_errors import FleetError
    from toolguard_fleet.person_access import PersonSession

VARIABLE = "TOOLGUARD_FLEET_DSN"
NO_DSN = "no fleet database was specified"
GIVE_DSN = f"give --dsn 'host=db.example dbname=fleet', or set {VARIABLE}"
AUTH_FAILED = ("no password supplied", "password authentication failed")
AUTH_FIX = "put a line HOST:PORT:DATABASE:LOGIN:PASSWORD into ~/.pgpass, which only you may read (chmod 600 ~/.pgpass)"
REACH_FIX = "check host, port and dbname in the connection string, and that PostgreSQL is running there; then try again"
CERTIFICATE_FIX = "give the certificate authority with sslrootcert=FILE, and the host name that is in the certificate"


@contextmanager
def user_errors() -> Iterator[None]:
    """Turns errors of the database and refusals into a `UserError`. Raises it also without the extra."""
    extras.require(extras.FLEET)
    from toolguard_fleet.fleet_errors import FleetError  # noqa: PLC0415 - needs the extra

    try:
        with gateway_stores.user_errors():
            yield
    except FleetError as error:
        text, mark, fix = str(error).partition(": run ")
        raise UserError(text, f"run {fix}" if mark else _fix(error)) from error


def _fix(error: FleetError) -> str:
    from toolguard_fleet.fleet_errors import UnreachableError  # noqa: PLC0415 - needs the extra

    text = str(error)
    if any(sign in text for sign in AUTH_FAILED):
        return AUTH_FIX
    if "certificate" in text:
        return CERTIFICATE_FIX
    return REACH_FIX if isinstance(error, UnreachableError) else ""


@contextmanager
def opened(places: Places, dsn: str) -> Iterator[PersonSession]:
    """A session as the person who runs the command. Raises `UserError`."""
    with user_errors():
        from toolguard_fleet import person_access  # noqa: PLC0415 - needs the extra

        with person_access.open_session(chosen(places, dsn)) as session:
            yield session


def chosen(places: Places, dsn: str) -> str:
    """The given connection string, that of the environment, or this gateway's without its login. Raises `UserError`."""
    if given := dsn or os.environ.get(VARIABLE, ""):
        return given
    return _without_login(own_dsn(places))


def refuse_password(dsn: str) -> None:
    """Raises `UserError`: other users of the machine see the arguments of commands."""
    if has_password(dsn):
        raise UserError("the connection string contains a password", "move it to ~/.pgpass, or name a file with passfile=")


def own_dsn(places: Places) -> str:
    """`fleet.dsn` of this gateway. Raises `UserError`."""
    entry: Any = gateway_stores.entry(places)
    fleet = entry.get("fleet") if isinstance(entry, dict) else None
    dsn = fleet.get("dsn") if isinstance(fleet, dict) else None
    if not isinstance(dsn, str) or not dsn:
        raise UserError(NO_DSN, GIVE_DSN)
    return dsn


def _without_login(dsn: str) -> str:
    """A person has a login and a password of the person's own."""
    with user_errors():
        from toolguard_fleet.connection_options import without_login  # noqa: PLC0415 - needs the extra

        return without_login(dsn)
