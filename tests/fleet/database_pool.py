"""Databases that are used by one test after another: to empty one takes about half of the processor time of a new one.

What comes back is as a copy of the template: each table has the rows of the template, each sequence its value, and no
login of the test is left. A database whose schema or rights a test changed, or that has grown, is not used again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from fleet_database import Connection, FleetDatabase
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres

LARGE = 32 << 20
"""Bytes of a database; a copy of the template has a third of it."""

CATALOGUES = (
    "pg_aggregate", "pg_amop", "pg_amproc", "pg_attrdef", "pg_attribute", "pg_cast", "pg_class", "pg_collation",
    "pg_constraint", "pg_default_acl", "pg_enum", "pg_event_trigger", "pg_extension", "pg_foreign_data_wrapper",
    "pg_foreign_server", "pg_index", "pg_inherits", "pg_language", "pg_largeobject_metadata", "pg_namespace", "pg_opclass",
    "pg_operator", "pg_partitioned_table", "pg_policy", "pg_proc", "pg_publication", "pg_range", "pg_rewrite",
    "pg_seclabel", "pg_sequence", "pg_statistic_ext", "pg_subscription", "pg_trigger", "pg_type",
)  # fmt: skip
"""Each change of a schema or of a right writes or removes rows of one of these."""
FINGERPRINT = " UNION ALL ".join(
    f"SELECT '{name}', count(*), max(xmin::text::bigint) FROM pg_catalog.{name}"  # noqa: S608
    for name in CATALOGUES
)
SETTINGS = """
SELECT datacl::text, datdba, datconnlimit, datallowconn,
    ARRAY(SELECT setconfig::text FROM pg_db_role_setting WHERE setdatabase = d.oid ORDER BY setrole),
    ARRAY(SELECT rolname || coalesce(rolconfig::text, '') || rolcanlogin || rolsuper FROM pg_roles
        WHERE rolname ^@ 'toolguard_' ORDER BY rolname)
FROM pg_database d WHERE datname = current_database()
"""
TABLES = """
SELECT quote_ident(nspname) || '.' || quote_ident(relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE relkind = 'r' AND nspname !~ '^pg_' AND nspname <> 'information_schema' AND pg_relation_size(c.oid) > 0
"""
SEQUENCES = """
SELECT quote_ident(schemaname) || '.' || quote_ident(sequencename), start_value, last_value FROM pg_sequences
"""


@dataclass
class Content:
    """Of a copy of the template. `schema`: what tells whether a test changed it."""

    schema: list[tuple[Any, ...]]
    rows: dict[str, bytes]
    sequences: list[tuple[str, int, int | None]]


class DatabasePool:
    """Of one server."""

    def __init__(self, server: TemporaryPostgres) -> None:
        self._server = server
        self._free: list[tuple[FleetDatabase, Content]] = []

    @contextmanager
    def database(self) -> Iterator[FleetDatabase]:
        """One whose name no database had before."""
        made, content = self._free.pop() if self._free else self._new()
        try:
            yield made
        except BaseException:
            made.close()
            raise
        if self._is_as_before(made, content):
            self._free.append((made, content))
        else:
            made.close()

    def close(self) -> None:
        for made, _ in self._free:
            made.close()

    def _new(self) -> tuple[FleetDatabase, Content]:
        made = FleetDatabase(self._server)
        with self._connection(made) as connection:
            return made, Content(_schema(connection), _rows(connection), connection.execute(SEQUENCES).fetchall())

    def _is_as_before(self, made: FleetDatabase, content: Content) -> bool:
        made.end_connections()  # one in a transaction would keep its rows locked
        try:
            opened = self._connection(made)
        except psycopg.OperationalError:
            return False  # the test let nobody connect any more
        with opened as connection:
            (size,) = connection.execute("SELECT pg_database_size(current_database())").fetchone() or (LARGE,)
            if size >= LARGE or _schema(connection) != content.schema:
                return False
            try:
                _empty(connection, content)
            except psycopg.errors.LockNotAvailable:
                return False  # a process of the test has connected again
        made.end_use()
        return True

    def _connection(self, made: FleetDatabase) -> Connection:
        return psycopg.connect(self._server.dsn(database=made.name), autocommit=True)


def _schema(connection: Connection) -> list[tuple[Any, ...]]:
    return [*connection.execute(FINGERPRINT.encode()).fetchall(), *connection.execute(SETTINGS).fetchall()]


def _rows(connection: Connection) -> dict[str, bytes]:
    found = {}
    for (table,) in connection.execute(TABLES).fetchall():
        with connection.cursor().copy(f"COPY {table} TO STDOUT".encode()) as copy:
            found[table] = b"".join(map(bytes, copy))
    return found


def _empty(connection: Connection, content: Content) -> None:
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")  # no trigger and no foreign key objects
        connection.execute("SET LOCAL lock_timeout = '10s'")
        if tables := [table for (table,) in connection.execute(TABLES).fetchall()]:
            connection.execute(";".join(f"DELETE FROM {table}" for table in tables).encode())  # noqa: S608
        for table, rows in content.rows.items():
            with connection.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
                copy.write(rows)
        for name, start, last in content.sequences:
            connection.execute("SELECT setval(%s, %s, %s)", (name, start if last is None else last, last is not None))
