"""The metrics file as the dashboard reads it: never written to but for bringing an older one up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from toolguard_engine.metrics import database


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for reading. Where nothing was recorded yet, one to an empty file. Raises `MetricsError`."""
    with closing(_connection(path)) as connection, database.reported(path):
        yield connection


def kept(path: Path) -> sqlite3.Connection | None:
    """A connection for whoever looks again and again; None where nothing was recorded yet. Raises `MetricsError`."""
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


def _connection(path: Path) -> sqlite3.Connection:
    return kept(path) or _empty()


def _empty() -> sqlite3.Connection:
    """What is said of a file without any event is said of no file too."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for script in database.migrations():
        connection.executescript(script)
    return connection


def _version(connection: sqlite3.Connection) -> int:
    """Of our schema; 0 where only another program was here."""
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'toolguard_schema'")
    if there.fetchone() is None:
        return 0
    (version,) = connection.execute("SELECT coalesce(max(version), 0) FROM toolguard_schema").fetchone()
    return int(version)
