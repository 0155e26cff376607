"""The schema `fleet`: its migrations, applied in order, each in one transaction.

A migration is `migrations/NNNN_name.sql`. It is never changed once it was released: the database records its SHA-256. The
line `-- oldest-client: N` states that clients which know no later migration than N-1 cannot work with the schema any more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import msgspec
from psycopg import Connection, errors, sql

from toolguard_fleet.fleet_errors import SchemaError

NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
OLDEST_CLIENT = re.compile(r"^-- oldest-client: (\d+)$", re.MULTILINE)
MIN_SERVER = 150_000
ATTEMPTS = 20
RACES = (errors.UniqueViolation, errors.DuplicateTable, errors.DuplicateSchema, errors.InternalError_)
"""What changes of the catalogue raise if another session makes the same at the same time."""

BOOKKEEPING = """
CREATE SCHEMA IF NOT EXISTS fleet;
REVOKE ALL ON SCHEMA fleet FROM PUBLIC;
CREATE TABLE IF NOT EXISTS fleet.migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    digest text NOT NULL,
    oldest_client integer NOT NULL,
    applied timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""
ADMIT_TO_DATABASE = """
REVOKE ALL ON DATABASE {database} FROM PUBLIC;
GRANT CONNECT ON DATABASE {database} TO toolguard_gateway, toolguard_approver, toolguard_admin, toolguard_page
"""

GATEWAY_LOGIN = "toolguard_gateway"
GATEWAY_LIMITS = """
ALTER ROLE {login} RESET ALL;
ALTER ROLE {login} SET statement_timeout = '5s';
ALTER ROLE {login} SET lock_timeout = '1s';
ALTER ROLE {login} SET idle_in_transaction_session_timeout = '5s'
"""
"""A login may change its own settings, and all gateways share one, or all of a team."""

TEAM_LOGINS = """
SELECT r.rolname, r.rolconnlimit, g.rolconnlimit FROM pg_roles AS r, pg_roles AS g
WHERE g.rolname = 'toolguard_gateway' AND r.oid <> g.oid AND fleet.is_gateway_login(r.rolname)
    AND r.rolcanlogin AND NOT r.rolsuper AND NOT r.rolcreaterole AND r.rolname <> current_user ORDER BY 1
"""
"""Logins that are gateways through membership. The owner is a member too, and has no limits."""


class SchemaMigration(msgspec.Struct, frozen=True):
    number: int
    name: str
    text: str
    digest: str
    oldest_client: int


class SchemaVersion(msgspec.Struct, frozen=True):
    """`oldest_client`: the lowest version that a client must know."""

    version: int
    oldest_client: int


@cache
def migrations() -> tuple[SchemaMigration, ...]:
    """Those of this package, in order."""
    folder = files("toolguard_fleet") / "migrations"
    names = sorted(name for entry in folder.iterdir() if NAME.fullmatch(name := entry.name))
    return tuple(_migration(name, (folder / name).read_text("utf-8")) for name in names)


def _migration(name: str, text: str) -> SchemaMigration:
    oldest = max((int(number) for number in OLDEST_CLIENT.findall(text)), default=1)
    return SchemaMigration(int(name[:4]), name.removesuffix(".sql"), text, sha256(text.encode()).hexdigest(), oldest)


def latest() -> int:
    return migrations()[-1].number


def migrate(
    connection: Connection[Any], days_ahead: int = 30, note: Callable[[str, bool], None] = lambda *_: None
) -> list[str]:
    """Applies what is missing, as the owner, and creates partitions for the next days. The names of what was applied.
    Raises `SchemaError`.

    `note` is called with each team's login and whether its limits could be set; again where the work is repeated.
    """
    if connection.info.server_version < MIN_SERVER:
        raise SchemaError(
            f"the server is PostgreSQL {connection.info.server_version // 10_000}: the fleet needs 15 or later"
        )
    applied: list[str] = []
    for left in reversed(range(ATTEMPTS)):
        try:
            with connection.transaction():
                connection.execute(BOOKKEEPING)
            for migration in migrations():
                if _apply(connection, migration):
                    applied.append(migration.name)  # noqa: PERF401 - what was applied before a race counts
            _admit_to_database(connection)
            _limit_gateway_logins(connection, note)
            connection.execute("SELECT fleet.maintain_partitions(%s)", (days_ahead,))
        except RACES:
            if not left:
                raise
        else:
            break
    return applied


def _apply(connection: Connection[Any], migration: SchemaMigration) -> bool:
    """Whether it was missing. Others that migrate wait for the lock on the table."""
    with connection.transaction():
        connection.execute("LOCK TABLE fleet.migration IN EXCLUSIVE MODE")
        known = _known(connection)
        if migration.number in known:
            return False
        if known and max(known) > migration.number:
            raise SchemaError(f"{migration.name} is missing, but the database has later migrations: ask its administrator")
        connection.execute(migration.text.encode())
        connection.execute("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fleet FROM PUBLIC")
        connection.execute(
            "INSERT INTO fleet.migration (number, name, digest, oldest_client) VALUES (%s, %s, %s, %s)",
            (migration.number, migration.name, migration.digest, migration.oldest_client),
        )
    return True


def _known(connection: Connection[Any]) -> set[int]:
    """The applied migrations. Raises `SchemaError` if one differs from ours, or is newer than all of ours."""
    ours = {migration.number: migration.digest for migration in migrations()}
    rows = connection.execute("SELECT number, name, digest FROM fleet.migration ORDER BY number").fetchall()
    for number, name, digest in rows:
        if number not in ours:
            raise SchemaError(
                f"the database has the migration {name:.60}, which is newer than this toolguard: upgrade toolguard here"
            )
        if digest != ours[number]:
            raise SchemaError(f"the migration {name:.60} in the database differs from the one in this toolguard")
    return {number for number, _, _ in rows}


def _admit_to_database(connection: Connection[Any]) -> None:
    """Only the fleet's roles may connect to the database, and nobody may create temporary objects there."""
    database = sql.Identifier(connection.info.dbname)
    with connection.transaction():
        connection.execute(sql.SQL(ADMIT_TO_DATABASE).format(database=database))


def _limit_gateway_logins(connection: Connection[Any], note: Callable[[str, bool], None]) -> None:
    """Their timeouts and, where a team's login has none, its connection limit. Logins that somebody else created may be out
    of the owner's reach."""
    _limit(connection, GATEWAY_LOGIN)
    for login, most, shared in connection.execute(TEAM_LOGINS).fetchall():
        try:
            _limit(connection, login, shared if most < 0 else None)
        except errors.InsufficientPrivilege:
            note(login, False)  # noqa: FBT003 - a callback has no names
        else:
            note(login, True)  # noqa: FBT003 - as above


def _limit(connection: Connection[Any], login: str, most: int | None = None) -> None:
    role = sql.Identifier(login)
    with connection.transaction():
        connection.execute(sql.SQL(GATEWAY_LIMITS).format(login=role))
        if most is not None:
            connection.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}").format(role, sql.Literal(most)))


def read_version(connection: Connection[Any]) -> SchemaVersion:
    """Reads the version; every role of the fleet may. Raises `SchemaError`."""
    try:
        row = connection.execute("SELECT fleet.schema_version()").fetchone()
    except (errors.InvalidSchemaName, errors.UndefinedFunction) as error:
        raise SchemaError("the database has no toolguard schema: run `toolguard fleet init` once") from error
    except errors.InsufficientPrivilege as error:
        raise SchemaError(
            "this login has no role in the fleet: an admin adds it with `toolguard fleet approvers add`"
        ) from error
    return msgspec.convert(row and row[0], SchemaVersion)


def check_version(connection: Connection[Any]) -> SchemaVersion:
    """Raises `SchemaError` if this toolguard cannot work with the database."""
    version = read_version(connection)
    if version.oldest_client > latest():
        raise SchemaError(
            f"the schema has version {version.version}, and this toolguard knows only {latest()}: upgrade toolguard here"
        )
    if version.version < latest():
        raise SchemaError(
            f"the schema has version {version.version}, this toolguard {latest()}: run `toolguard fleet migrate`"
        )
    return version
