"""The metrics file, opened for reading: the dashboard, `toolguard usage`, `toolguard status`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolguard_engine.metrics import database
from toolguard_engine.metrics.database import Missing, reported


def open_to_read(path: Path) -> sqlite3.Connection:
    """A read-only connection. Raises `MetricsError`; `Missing` if toolguard has written nothing.

    A file of an older toolguard is migrated first. Not `mode=ro`: SQLite then cannot read a file with a WAL that no other
    process has open and whose folder cannot be written.
    """
    connection = _checked(path)
    try:
        with reported(path):
            connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def asked(path: Path) -> Iterator[sqlite3.Connection]:
    """The same as a context, with SQLite errors as `MetricsError`."""
    connection = open_to_read(path)
    try:
        with reported(path):
            yield connection
    finally:
        connection.close()


def _checked(path: Path) -> sqlite3.Connection:
    connection = database.open_existing(path)
    try:
        with reported(path):
            version = database.version_of(connection)
    except BaseException:
        connection.close()
        raise
    if version == database.latest():
        return connection
    connection.close()
    if not version:
        raise Missing.make(path, "holds no metrics of toolguard yet")
    return database.connect(path)
