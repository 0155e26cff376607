"""What this gateway's fleet database answers to the gateway's own login, for `doctor`. Nothing is written there."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolguard_cli.fleet.fleet_session import user_errors
from toolguard_cli.system.errors import UserError
from toolguard_engine.stores.fleet import fleet_identity

if TYPE_CHECKING:
    from toolguard_fleet.blocking_connection import Connection


@dataclass(frozen=True)
class DatabaseFacts:
    """`refusal`: why the gateway is not admitted, empty if it is. `skew`: the server's clock minus ours, in seconds.
    `schema`, `known`: the version of the database's schema, and the latest that this toolguard knows."""

    gateway: str
    is_local: bool
    is_encrypted: bool
    has_standby: bool
    skew: float
    schema: int
    known: int
    version_problem: str
    refusal: str


def ask(state_dir: Path, dsn: str) -> DatabaseFacts:
    """Raises `UserError` if the database cannot be used, `StoreError` if this gateway has not joined."""
    identity = fleet_identity.load(state_dir)
    with user_errors():
        from toolguard_fleet import blocking_connection, connection_options, schema  # noqa: PLC0415 - needs the extra

        with blocking_connection.connected(dsn, "toolguard doctor") as connection:
            return DatabaseFacts(
                gateway=identity.id,
                is_local=connection_options.is_local(dict(connection_options.options(dsn))),
                is_encrypted=bool(connection.pgconn.ssl_in_use),
                has_standby=_text(connection, "SELECT current_setting('synchronous_standby_names')") != "",
                skew=_skew(connection),
                schema=schema.read_version(connection).version,
                known=schema.latest(),
                version_problem=_version_problem(connection),
                refusal=_refusal(connection, identity.id, identity.token),
            )


def _text(connection: Connection, statement: str) -> str:
    row = connection.execute(statement.encode()).fetchone()
    return str(row[0]) if row else ""


def _skew(connection: Connection) -> float:
    begun = time.time()
    server = float(_text(connection, "SELECT extract(epoch FROM clock_timestamp())"))
    return server - (begun + time.time()) / 2


def _version_problem(connection: Connection) -> str:
    from toolguard_fleet import schema  # noqa: PLC0415 - needs the extra
    from toolguard_fleet.fleet_errors import SchemaError  # noqa: PLC0415 - as above

    try:
        schema.check_version(connection)
    except SchemaError as error:
        return str(error)
    return ""


def _refusal(connection: Connection, gateway: str, token: bytes) -> str:
    """Finds out by a question that changes nothing."""
    try:
        with user_errors():
            from toolguard_fleet.blocking_connection import first  # noqa: PLC0415 - needs the extra

            first(connection, "SELECT fleet.audit_heads(%s, %s)", (gateway, token), object)
    except UserError as error:
        return error.message
    return ""
