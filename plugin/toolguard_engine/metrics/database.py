"""The metrics file: open, create, migrate.

Invariants: the file may be shared with another program (the plugin that toolguard replaces has its tables in it), so all our
names begin with `toolguard_` and the schema version is in a table of ours. A file that is not a database, is damaged,
belongs to another program or was written by a newer toolguard is reported and left as it is. The whole file is checked
before its schema is changed.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache, partial
from pathlib import Path

from toolguard_engine import lazy_re, packaged
from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import StoreError, unusable
from toolguard_engine.stores.transactions import transaction

Connection = sqlite3.Connection
"""For annotations in other components."""

PREFIX = "toolguard_"
OLD_EVENTS = "usage_events"
"""The old plugin's table; a file that has it may be shared."""

BUSY_SECONDS = 5.0
BUSY_POLL_SECONDS = 0.01
WAL_LIMIT = 32 * 1024 * 1024
_PRAGMAS = (
    "trusted_schema = OFF",
    "cell_size_check = ON",
    "synchronous = NORMAL",
    "checkpoint_fullfsync = ON",
    f"journal_size_limit = {WAL_LIMIT}",
)
PRIMARY_CODE = 0xFF
_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_NUMBERED = lazy_re.compile(r"(\d{3})-[a-z0-9-]+\.sql\Z")
_WORDS = {
    sqlite3.SQLITE_NOTADB: "is not a SQLite database; move it away, or name another file in metrics.dbPath",
    sqlite3.SQLITE_CORRUPT: "is damaged; move it away, or restore a copy of it",
    sqlite3.SQLITE_BUSY: "is locked by another process; check whether one of your processes hangs, then try again",
    sqlite3.SQLITE_LOCKED: "is locked by another process; check whether one of your processes hangs, then try again",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_READONLY: "cannot be written; check the owners of the file and its folder",
    sqlite3.SQLITE_PERM: "cannot be opened; check the owners of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check the owners of the file and its folder",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error",
}


class MetricsError(StoreError):
    """The metrics file cannot be used now; one line with the reason and the fix."""

    code = "metrics.unavailable"

    @classmethod
    def make(cls, path: Path, words: str) -> MetricsError:
        return cls(f"{str(path)!a} {words}")


class Missing(MetricsError):  # noqa: N818 - an answer
    """There is no such file."""


class LockedDatabase(MetricsError):  # noqa: N818 - an answer
    """Another process holds the file."""


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """SQLite errors about this file as `MetricsError`. SQLite's own messages may quote from the file and are left out."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        name = getattr(error, "sqlite_errorname", "no reason")
        words = _WORDS.get(code & PRIMARY_CODE, f"cannot be used: SQLite reports {name}")
        kind = LockedDatabase if code & PRIMARY_CODE in _HELD else MetricsError
        raise kind.make(path, words) from error


def connect(path: Path) -> sqlite3.Connection:
    """Opens the file with our tables; creates it and its folder (0600, 0700) if they are missing. Raises `MetricsError`.

    Statements commit by themselves; group them with `transaction`.
    """
    _make(path)
    connection = open_existing(path)
    try:
        with reported(path):
            _refuse_foreign(path, connection)
            _refuse_damaged(path, connection)
            _log_ahead(connection)
            _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_existing(path: Path) -> sqlite3.Connection:
    """Opens an existing file, whatever it holds. Raises `MetricsError`; `Missing` if there is no file.

    Text that is not UTF-8 is read with replacement characters.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise MetricsError.make(path, "is not a file; name another one in metrics.dbPath")
        uri = f"{path.absolute().as_uri()}?mode=rw"
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Missing(str(unusable(path, error))) from error
    except (OSError, ValueError) as error:
        raise MetricsError(str(unusable(path, error))) from error
    with reported(path):
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection


def in_memory() -> Connection:
    """An empty database with our tables, in place of a file that does not exist."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for script in migrations():
        connection.executescript(script)
    return connection


def is_ours(path: Path) -> bool:
    """Whether the file exists and toolguard has written to it. Raises `MetricsError`."""
    try:
        with closing(open_existing(path)) as connection, reported(path):
            return version_of(connection) > 0
    except Missing:
        return False


def examine(path: Path) -> bool:
    """Checks the whole file; whether it has events of ours. Writes nothing. Raises `MetricsError`."""
    with closing(open_existing(path)) as connection, reported(path):
        _refuse_foreign(path, connection)
        if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise MetricsError.make(path, _WORDS[sqlite3.SQLITE_CORRUPT])
        return version_of(connection) > 0


def latest() -> int:
    """The version of the schema that this toolguard knows."""
    return len(migrations())


@cache
def migrations() -> tuple[str, ...]:
    """The SQL of every version, the first version first."""
    folder = packaged.FOLDER.joinpath("metrics")
    named = sorted((file.name, file) for file in folder.iterdir() if _NUMBERED.match(file.name))
    return tuple(file.read_text("utf-8") for _, file in named)


def _make(path: Path) -> None:
    try:
        atomic.make_folder(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        atomic.belong_to_folder(path)
    except FileExistsError:
        return
    except (OSError, ValueError) as error:
        raise MetricsError(str(unusable(path, error))) from error


def _refuse_foreign(path: Path, connection: sqlite3.Connection) -> None:
    tables = _tables(connection)
    if tables and OLD_EVENTS not in tables and not any(name.startswith(PREFIX) for name in tables):
        raise MetricsError.make(path, "holds the tables of another program; name another file in metrics.dbPath")
    if (version := version_of(connection)) > latest():
        fault = f"has schema {version}, and this toolguard knows {latest()}"
        raise MetricsError.make(path, f"was written by a newer toolguard ({fault}); update toolguard")


def _refuse_damaged(path: Path, connection: sqlite3.Connection) -> None:
    """Checks the whole file, once for every schema version."""
    if version_of(connection) < latest() and connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise MetricsError.make(path, _WORDS[sqlite3.SQLITE_CORRUPT])


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switches to WAL. SQLite does not wait by itself if another process does the same at the same time."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & PRIMARY_CODE != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(BUSY_POLL_SECONDS)
        else:
            return


def _migrate(connection: sqlite3.Connection) -> None:
    if version_of(connection) == latest():
        return
    with transaction(connection):
        for version, script in enumerate(migrations()[(done := version_of(connection)) :], done + 1):
            for statement in _statements(script):
                connection.execute(statement)
            now = time.time_ns() // 1_000_000
            connection.execute("INSERT INTO toolguard_schema (version, applied_at) VALUES (?, ?)", (version, now))


def version_of(connection: sqlite3.Connection) -> int:
    """The schema version of this file; 0 if toolguard has never written to it."""
    if "toolguard_schema" not in _tables(connection):
        return 0
    (version,) = connection.execute("SELECT coalesce(max(version), 0) FROM toolguard_schema").fetchone()
    return int(version)


def _tables(connection: sqlite3.Connection) -> set[str]:
    cursor = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in cursor if not name.startswith("sqlite_")}


def _statements(script: str) -> Iterator[str]:
    """Splits a script: `executescript` would commit first, and a version must be applied whole."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
