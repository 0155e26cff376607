"""SQLite transactions, and copies of databases that are in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from toolguard_engine.stores.locked import StoreError

if TYPE_CHECKING:
    import sqlite3


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A write transaction: all statements or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def serialized(path: Path) -> bytes:
    """A database as one file, with what is in its write-ahead log. Raises `StoreError`."""
    import sqlite3  # noqa: PLC0415 - a program that copies none needs none

    try:
        with (
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database,
            closing(sqlite3.connect(":memory:")) as copy,
        ):
            database.backup(copy)
            return copy.serialize()
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be read: {error}; run `toolguard doctor`") from error
