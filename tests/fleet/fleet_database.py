"""A fresh database of a fleet for a test, and connections to it as each kind of login."""

from __future__ import annotations

import secrets
import time
from typing import Any

import psycopg
from psycopg import sql

from toolguard_cli.rig.temporary_postgres import TemporaryPostgres
from toolguard_fleet import schema

OWNER = "fleet_owner"
PASSWORD = "for-tests-only"
TEMPLATE = "fleet_template"
Connection = psycopg.Connection[Any]
ENDED = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
"""Ends the connections that were left open; no row if there is none."""
END_SECONDS = 60


def make_template(server: TemporaryPostgres) -> None:
    """The owner is no superuser: it may create roles and owns its databases, as at a managed PostgreSQL."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN CREATEROLE CREATEDB PASSWORD {}").format(
                sql.Identifier(OWNER), sql.Literal(PASSWORD)
            )
        )
        connection.execute(f"CREATE DATABASE {TEMPLATE} OWNER {OWNER}")
    with psycopg.connect(server.dsn(OWNER, TEMPLATE, PASSWORD), autocommit=True) as connection:
        schema.migrate(connection, days_ahead=1)
        connection.execute(sql.SQL("ALTER ROLE toolguard_gateway PASSWORD {}").format(sql.Literal(PASSWORD)))
        connection.execute(sql.SQL("ALTER ROLE toolguard_page PASSWORD {}").format(sql.Literal(PASSWORD)))


class Gateway:
    """An admitted gateway: the first arguments of its functions."""

    def __init__(self, team: str) -> None:
        self.id = f"gw-{secrets.token_hex(8)}"
        self.token = secrets.token_bytes(32)
        self.team = team


def new_name() -> str:
    return f"fleet_{secrets.token_hex(6)}"


class FleetDatabase:
    """All connections are in autocommit mode and closed with the database, which is dropped."""

    def __init__(self, server: TemporaryPostgres) -> None:
        self.server = server
        self.name = new_name()
        self._open: list[Connection] = []
        self._logins: list[str] = []
        self._others: list[str] = []
        self._superuser = psycopg.connect(server.dsn(), autocommit=True)
        self._superuser.execute(f"CREATE DATABASE {self.name} TEMPLATE {TEMPLATE} OWNER {OWNER}")
        schema._admit_to_database(self.owner())  # a database's own rights are not part of its template

    def dsn(self, login: str, *, tcp: bool = False) -> str:
        return self.server.dsn(login, self.name, PASSWORD, tcp=tcp)

    def connect(self, login: str) -> Connection:
        connection = psycopg.connect(self.dsn(login), autocommit=True)
        self._open.append(connection)
        return connection

    def owner(self) -> Connection:
        return self.connect(OWNER)

    def empty(self) -> str:
        """The owner's connection string for another database without a schema."""
        name = f"{self.name}_empty"
        self._superuser.execute(f"CREATE DATABASE {name} OWNER {OWNER}".encode())
        self._others.append(name)
        return self.server.dsn(OWNER, name, PASSWORD)

    def superuser(self) -> Connection:
        """To this database."""
        connection = psycopg.connect(self.server.dsn(database=self.name), autocommit=True)
        self._open.append(connection)
        return connection

    def gateway_login(self) -> Connection:
        return self.connect("toolguard_gateway")

    def login(self, name: str) -> str:
        """A new login, unknown to the fleet. Logins belong to the server: its name is made unique."""
        login = f"{name}_{self.name}"
        self._superuser.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(login), sql.Literal(PASSWORD))
        )
        self._logins.append(login)
        return login

    def person(self, name: str, role: str = "approver", teams: tuple[str, ...] = ("ops",)) -> Connection:
        """Connected as a new person whose id is `name`."""
        login = self.login(name)
        with psycopg.connect(self.dsn(OWNER), autocommit=True) as owner:
            owner.execute("SELECT fleet.add_approver(%s, %s, %s, %s)", (name, login, role, list(teams)))
        return self.connect(login)

    def gateway(self, team: str = "ops") -> Gateway:
        """A new admitted gateway."""
        made = Gateway(team)
        with psycopg.connect(self.dsn(OWNER), autocommit=True) as owner:
            owner.execute("SELECT fleet.join(%s, sha256(%s), %s, 'host', '1')", (made.id, made.token, team))
            owner.execute("SELECT fleet.admit(%s)", (made.id,))
        return made

    def connect_again(self) -> None:
        """After the server was stopped."""
        self._superuser.close()
        self._superuser = psycopg.connect(self.server.dsn(), autocommit=True)

    def move_to(self, server: TemporaryPostgres) -> None:
        """Its server is lost, and this one took over."""
        self.server = server
        self.connect_again()

    def abandon(self) -> None:
        """Closes the connections; the server goes, and all that is on it."""
        for connection in (*self._open, self._superuser):
            connection.close()

    def close(self) -> None:
        self._close_connections()
        self._drop(self.name)
        self._drop_others()
        self._superuser.close()

    def end_use(self) -> None:
        """For another test: under a new name, without the connections and the logins of this one."""
        self.end_connections()
        name = new_name()
        self._superuser.execute(f"ALTER DATABASE {self.name} RENAME TO {name}".encode())
        self.name = name
        self._drop_others()

    def end_connections(self) -> None:
        """Those of the test, and of processes that it killed or stopped in the middle of a transaction."""
        self._close_connections()
        limit = time.monotonic() + END_SECONDS
        while self._superuser.execute(ENDED, (self.name,)).fetchall() and time.monotonic() < limit:
            time.sleep(0.002)  # PostgreSQL's own waiting goes by tenths of a second

    def _close_connections(self) -> None:
        while self._open:
            self._open.pop().close()

    def _drop(self, database: str) -> None:
        self._superuser.execute(f"DROP DATABASE {database} WITH (FORCE)".encode())

    def _drop_others(self) -> None:
        while self._others:
            self._drop(self._others.pop())
        while self._logins:
            self._superuser.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(self._logins.pop())))
