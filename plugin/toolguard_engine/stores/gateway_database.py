"""The gateway's own SQLite databases. Read, never written."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote


class GatewayDatabaseError(ValueError):
    """The database cannot be read, or holds something else."""


def table_rows(path: Path, table: str, columns: tuple[str, ...], limit: int) -> list[tuple[Any, ...]] | None:
    """Returns at most `limit` rows; None if there is no such table with these columns. `table` and `columns` are never
    input."""
    # A journal beside it means that a gateway runs or was killed. Without one, opening it must not make one.
    mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as database:
            known = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
            if not known.issuperset(columns):
                return None
            query = f"SELECT {', '.join(columns)} FROM {table} LIMIT {limit:d}"  # noqa: S608 - names from our own code
            return database.execute(query).fetchall()
    except sqlite3.Error as error:
        raise GatewayDatabaseError(f"{path}: {error}") from error


def transcript_events(path: Path, counted: Callable[[int], None]) -> Iterator[tuple[Any, ...]]:
    """`(session_id, seq, event_json, event_zstd, navigation_json)` of each event, by session. `counted` gets their number
    first. `mode=ro` writes nothing into the database; if its folder cannot be written, the file is read without its journal.
    """
    place, has_begun = f"file:{quote(str(path.absolute()))}", False
    try:
        try:
            for row in _events(f"{place}?mode=ro", counted):
                has_begun = True
                yield row
        except sqlite3.OperationalError:
            if has_begun:
                raise
            yield from _events(f"{place}?immutable=1", counted)
    except sqlite3.Error as error:
        raise GatewayDatabaseError(str(error)) from error


def _events(address: str, counted: Callable[[int], None]) -> Iterator[tuple[Any, ...]]:
    with closing(sqlite3.connect(address, uri=True)) as database:
        columns = {row[1] for row in database.execute("PRAGMA table_info(transcript_events)")}
        if "event_json" not in columns:
            raise GatewayDatabaseError("it is a database, but holds no transcript")
        packed = "event_zstd, navigation_json" if "event_zstd" in columns else "NULL, NULL"
        (size,) = database.execute("SELECT count(*) FROM transcript_events").fetchone()
        counted(size)
        yield from database.execute(
            f"SELECT session_id, seq, event_json, {packed} FROM transcript_events ORDER BY session_id, seq"  # noqa: S608
        )
