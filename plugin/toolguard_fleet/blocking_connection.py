"""Connections that wait, for commands and the dashboard, and what the database's errors mean. The courier has its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString, TypeVar

import msgspec
import psycopg
from psycopg.types.json import set_json_loads

from toolguard_engine.approvals.ledger import RefusedError
from toolguard_fleet import connection_options, missing_rights
from toolguard_fleet.fleet_errors import FleetError, SchemaError, UnreachableError

Connection = psycopg.Connection[Any]
T = TypeVar("T")
REFUSED = "TG012"
MAX_ERROR = 200
FIXES = {
    "TG001": "toolguard fleet gateways lists them",
    "TG002": "an admin admits it with `toolguard fleet admit`",
    "TG010": "an admin adds it with `toolguard fleet approvers add`",
}


@contextmanager
def connected(dsn: str, name: str) -> Iterator[Connection]:
    """Connects in autocommit mode. Raises `FleetError`: `UnreachableError` if the server cannot be used."""
    with translated(), _opened(dsn, name) as connection:
        set_json_loads(msgspec.json.decode, connection)
        yield connection


def _opened(dsn: str, name: str) -> Connection:
    arguments = connection_options.options(dsn, name)
    try:
        return psycopg.connect(autocommit=True, prepare_threshold=None, **arguments)
    except (psycopg.Error, OSError, UnicodeError) as error:
        raise UnreachableError(f"the fleet's database cannot be used: {one_line(error)}") from error


def first(connection: Connection, statement: LiteralString, arguments: tuple[Any, ...], kind: type[T]) -> T:
    """The first column of the first row as `kind`. Raises `FleetError`, `RefusedError`."""
    with translated(connection, statement):
        row = connection.execute(statement, arguments).fetchone()
        return msgspec.convert(row[0] if row else None, kind)


def column(connection: Connection, statement: LiteralString, arguments: tuple[Any, ...], kind: type[T]) -> list[T]:
    """The first column of all rows. Raises `FleetError`, `RefusedError`."""
    with translated(connection, statement):
        return [msgspec.convert(row[0], kind) for row in connection.execute(statement, arguments)]


@contextmanager
def translated(connection: Connection | None = None, statement: str = "") -> Iterator[None]:
    """Errors of the database as `FleetError`, or as the `RefusedError` of the ledger. With both arguments, a missing right
    is explained."""
    try:
        yield
    except msgspec.ValidationError as error:
        raise FleetError(f"the fleet's database returned an unexpected answer: {one_line(error)}") from error
    except psycopg.errors.InsufficientPrivilege as error:
        text = missing_rights.describe(connection, statement) if connection else "that needs the owner's login"
        raise FleetError(one_line(text), "42501") from error
    except psycopg.Error as error:
        raise _meaning(error) from error


def _meaning(error: psycopg.Error) -> Exception:
    code = error.diag.sqlstate or error.sqlstate or ""
    text = one_line(error.diag.message_primary or error)
    if code == REFUSED:
        hint = error.diag.message_hint
        return RefusedError(error.diag.message_detail or "unknown", matches=(hint,) if hint else ())
    if code in ("3F000", "42883"):
        return SchemaError("the database has no toolguard schema of this version: run `toolguard fleet migrate`", code)
    if code == "55P03":
        return FleetError("another transaction has it locked: try again", code)
    if code == "57014":
        return FleetError("the fleet's database took too long: try again", code)
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return UnreachableError(f"the connection to the fleet's database was lost: {text}", code)
    return FleetError(f"{text}: {FIXES[code]}" if code in FIXES else text, code)


def one_line(error: object) -> str:
    """Printable and bounded. libpq names hosts and users in its errors, never passwords."""
    text = " ".join(str(error).split()) or type(error).__name__
    return "".join(sign if sign.isprintable() else "?" for sign in text)[:MAX_ERROR]
