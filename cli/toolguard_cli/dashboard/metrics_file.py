"""Opens the metrics file for reading. It is written to only to migrate an older schema."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from toolguard_engine.metrics import database
from toolguard_engine.metrics.database import Connection


@contextmanager
def opened(path: Path) -> Iterator[Connection]:
    """A connection for reading; to an empty database if nothing was recorded yet. Raises `MetricsError`."""
    with closing(_connection(path)) as connection, database.reported(path):
        yield connection


def kept(path: Path) -> Connection | None:
    """A connection for repeated reads; None if nothing was recorded yet. Raises `MetricsError`."""
    try:
        connection = database.open_existing(path)
    except database.Missing:
        return None
    try:
        with database.reported(path):
            version = _version(connection)
            connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    if version == database.latest():
        return connection
    connection.close()
    if not version:
        return None
    database.connect(path).close()
    return kept(path)


def _connection(path: Path) -> Connection:
    return kept(path) or database.in_memory()


def _version(connection: Connection) -> int:
    """The version of our schema; 0 if the file has none."""
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'toolguard_schema'")
    if there.fetchone() is None:
        return 0
    (version,) = connection.execute("SELECT coalesce(max(version), 0) FROM toolguard_schema").fetchone()
    return int(version)
