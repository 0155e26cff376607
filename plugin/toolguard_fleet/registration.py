"""Setting up the database, as its owner, and registering a gateway, with the gateways' login."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from hashlib import sha256

from psycopg import sql

from toolguard_fleet import schema
from toolguard_fleet.blocking_connection import connected, first, translated
from toolguard_fleet.fleet_errors import FleetError

GATEWAYS, PAGE = "toolguard_gateway", "toolguard_page"
OWNER, JOINING = "toolguard owner", "toolguard join"


def migrate(dsn: str, note: Callable[[str, bool], None] = lambda *_: None) -> tuple[list[str], int]:
    """The migrations that were applied, and the version of the schema. `note`: see `schema.migrate`. Raises `FleetError`."""
    with connected(dsn, OWNER) as connection, translated(connection):
        done = schema.migrate(connection, note=note)
        return done, schema.read_version(connection).version


def has_schema(dsn: str) -> bool:
    """Raises `FleetError`."""
    with connected(dsn, OWNER) as connection:
        return first(connection, "SELECT to_regclass('fleet.migration') IS NOT NULL", (), bool)


def new_gateway_password(dsn: str) -> str:
    """Gives the gateways' login a new password, which the server gets as a verifier only. Raises `FleetError`."""
    return new_password(dsn, GATEWAYS)


def new_password(dsn: str, login: str) -> str:
    """Sets a new password as the owner. Raises `FleetError`."""
    password = secrets.token_urlsafe(24)
    with connected(dsn, OWNER) as connection, translated(connection):
        verifier = connection.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256").decode()
        command = sql.SQL("ALTER ROLE {} PASSWORD {}")
        connection.execute(command.format(sql.Identifier(login), sql.Literal(verifier)))
    return password


def join(dsn: str, gateway: str, token: bytes, team: str, host: str, version: str) -> str:
    """The state of the gateway: new, admitted. The database gets the token's digest only. Raises `FleetError`.

    The login becomes part of the gateway's config, so the owner's is refused: with it, agents could change every table.
    """
    with connected(dsn, JOINING) as connection:
        schema.check_version(connection)
        if first(connection, "SELECT has_schema_privilege(session_user, 'fleet', 'CREATE')", (), bool):
            raise FleetError(f"this login owns the fleet's database: join with user={GATEWAYS}")
        values = (gateway, sha256(token).digest(), team, host, version)
        return first(connection, "SELECT fleet.join(%s, %s, %s, %s, %s)", values, str)


def leave(dsn: str, gateway: str, token: bytes) -> None:
    """The gateway can no longer ask anything. Raises `FleetError`."""
    with connected(dsn, JOINING) as connection:
        first(connection, "SELECT fleet.leave(%s, %s)", (gateway, token), object)


def fingerprint(token: bytes) -> str:
    """What an admin compares before admitting the gateway."""
    return sha256(token).digest()[:8].hex()
