"""How many rows tables have in a database file of SQLite that somebody else made.

It is opened as something that never changes, so that nothing is written or locked beside it, and not at all while changes
lie in a file beside it. An agent may have made it, so the work is bounded.
"""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from toolguard_engine.stores import atomic
from toolguard_engine.wording.printable import counted, plain

SECONDS = 0.5
MAX_ROWS = 1_000_000
MAX_TABLES = 4
MAX_TEXT = 1_000_000
_BESIDE = ("-wal", "-journal")
"""Files with what is not, or not for good, in the database itself."""

_STEPS = 10_000
"""Of SQLite's machine, between two looks at the clock."""

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 LIMIT 2000"
"""Not virtual ones, whose content a module makes up."""
_COUNT = 'SELECT count(*) FROM (SELECT 1 FROM "{}" LIMIT ?)'


def describe(path: str, statement: str) -> str:
    """Returns text like "users has 1,204 rows"; empty where no database can be read, or none of its tables is named."""
    try:
        if _has_changes_beside(Path(path)):
            return ""
        with atomic.handle_of(Path(path)) as handle, closing(_database(handle)) as database:
            return ", ".join(_rows(database, set(re.findall(r"\w+", statement.lower()))))
    except (OSError, ValueError, sqlite3.Error):
        return ""


def _has_changes_beside(path: Path) -> bool:
    beside = [path.with_name(path.name + ending) for ending in _BESIDE]
    return any(other.exists() and other.stat().st_size for other in beside)


def _database(handle: int) -> sqlite3.Connection:
    """Opens the file that is open already, and not its path, where something else may be by now."""
    return sqlite3.connect(f"file:/dev/fd/{handle}?mode=ro&immutable=1", uri=True)


def _rows(database: sqlite3.Connection, named: set[str]) -> list[str]:
    end = time.monotonic() + SECONDS
    database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT)
    database.execute("PRAGMA trusted_schema = OFF")
    tables = [str(name) for (name,) in database.execute(_TABLES) if str(name).lower() in named]
    return [f"{plain(table)} has {_count(database, table)}" for table in tables[:MAX_TABLES]]


def _count(database: sqlite3.Connection, table: str) -> str:
    try:
        (rows,) = database.execute(_COUNT.format(table.replace('"', '""')), [MAX_ROWS]).fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:  # it took too long
            return "more rows than could be counted"
        raise
    return f"{MAX_ROWS:,} rows or more" if rows == MAX_ROWS else counted(rows, "row")
