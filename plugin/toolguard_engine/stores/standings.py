"""How the agents stand, on disk: `<state dir>/toolguard/standings.db` (SQLite, WAL), of all engines and the command line.

The law: what was spent does not come back by an accident. A file that is not as we wrote it is kept aside as
`standings.db.corrupt-<time>`, and as long as one of those lies there nothing is read or written (`toolguard doctor --fix`
clears it away); what a person changed in another process is not undone by what an engine knew before.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from toolguard_engine.standing import IDLE_SECONDS, MAX_STANDINGS, Standing
from toolguard_engine.stores import files
from toolguard_engine.stores.locked import Busy, Damaged, StoreError, corrupt_files, unusable

if TYPE_CHECKING:
    import sqlite3

NAME = "standings.db"
BUSY_SECONDS = 0.05
"""An engine waits no longer for another process: a call may wait for it."""

PATIENT_SECONDS = 2.0
SCHEMA = 1
BESIDE = ("-wal", "-shm")
"""What SQLite keeps beside the file while it is open."""

_PRAGMAS = ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = NORMAL", "journal_size_limit = 4194304")
_TABLE = """
CREATE TABLE standing (
    agent TEXT NOT NULL, session TEXT NOT NULL, epoch INTEGER NOT NULL, touched REAL NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (agent, session)
) WITHOUT ROWID
"""
_SAVE = """
INSERT INTO standing (agent, session, epoch, touched, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (agent, session) DO UPDATE SET epoch = excluded.epoch, touched = excluded.touched, body = excluded.body
WHERE standing.epoch <= excluded.epoch
"""
_NEWER = "SELECT body FROM standing WHERE agent = ? AND session = ? AND epoch > ?"
_KNOWN = "SELECT body FROM standing WHERE touched >= ? ORDER BY touched DESC LIMIT ?"
_FORGET = "DELETE FROM standing WHERE touched < ?"
_FORGET_REST = """
DELETE FROM standing WHERE (agent, session) IN (SELECT agent, session FROM standing ORDER BY touched DESC LIMIT -1 OFFSET ?)
"""
_BUSY = "is held by another process; if none of yours hangs, try again"
_WORDS = {
    "SQLITE_FULL": "cannot grow: the disk is full",
    "SQLITE_READONLY": "cannot be written; see who owns it and its folder",
    "SQLITE_PERM": "cannot be opened; see who owns it and its folder",
    "SQLITE_CANTOPEN": "cannot be opened; see who owns it and its folder",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error",
}
_DAMAGE = frozenset({"SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_ERROR", "SQLITE_MISMATCH"})
"""`SQLITE_ERROR`: our own statements do not fit what stands in the file."""

Change = Callable[[Standing], Standing | None]
_Row = tuple[str, str, int, float, bytes]


class FileStandings:
    """Those of one state directory. Raises `StoreError`: `Busy` where another process is at it, `Damaged` where the file is.

    One connection is kept open until `close`. `patient`: for the command line, where nobody's call waits meanwhile.
    """

    def __init__(self, state_dir: Path, *, patient: bool = False) -> None:
        self.path = files.own_folder(state_dir) / NAME
        self._wait = PATIENT_SECONDS if patient else BUSY_SECONDS
        self._open: sqlite3.Connection | None = None
        self._file = (0, 0)

    def load(self, *, patient: bool = False) -> list[Standing]:
        """Those of `IDLE_SECONDS`, at most `MAX_STANDINGS`, the latest first; the rest is removed.

        `patient`: as an engine that begins, which could give back what was spent if it did not know them.
        """
        with self._reported():
            connection = self._connected()
            if connection is None:
                return []
            wait = PATIENT_SECONDS if patient else self._wait
            connection.execute(f"PRAGMA busy_timeout = {wait * 1000:.0f}")
            _refuse_damaged(connection)
            oldest = time.time() - IDLE_SECONDS
            with _transaction(connection):
                connection.execute(_FORGET, (oldest,))
                connection.execute(_FORGET_REST, (MAX_STANDINGS,))
            found = _read(connection.execute(_KNOWN, (oldest, MAX_STANDINGS)))
            connection.execute(f"PRAGMA busy_timeout = {self._wait * 1000:.0f}")
            return found

    def look(self) -> list[Standing]:
        """As `load`; changes nothing, and leaves a damaged file where it is."""
        with self._reported(keep_aside=False):
            connection = self._connected()
            if connection is None:
                return []
            _refuse_damaged(connection)
            return _read(connection.execute(_KNOWN, (time.time() - IDLE_SECONDS, MAX_STANDINGS)))

    def newer(self, standing: tuple[str, str], epoch: int) -> Standing | None:
        """What a person changed meanwhile: the standing of this agent and session where its epoch is a later one."""
        with self._reported():
            connection = self._connected()
            if connection is None:
                return None
            return next(iter(_read(connection.execute(_NEWER, (*standing, epoch)))), None)

    def save(self, changed: dict[tuple[str, str], Standing]) -> list[Standing]:
        """Writes these, all or none. Where the epoch on disk is a later one it stays as it is there, and is returned."""
        with self._reported():
            rows = [_row(each) for each in changed.values()]
            connection = self._made()
            with _transaction(connection):
                return [newer for row in rows for newer in _saved(connection, row)]

    def checkpoint(self, change: Change) -> list[tuple[Standing, Standing]]:
        """Those that `change` makes something else of, before and after. None of it where anything fails."""
        with self._reported():
            connection = self._connected()
            if connection is None:
                return []
            with _transaction(connection):
                known = _read(connection.execute(_KNOWN, (time.time() - IDLE_SECONDS, MAX_STANDINGS)))
                changed = [(each, after) for each in known if (after := change(each)) is not None]
                connection.executemany(_SAVE, [_row(after) for _, after in changed])
            return changed

    def close(self) -> None:
        """Nothing is open any more; the next call opens it again."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _made(self) -> sqlite3.Connection:
        connection = self._connected()
        if connection is None:
            _make(self.path)
            connection = self._connected()
        if connection is None:
            raise StoreError(f"{self.path} is removed as soon as it is made")
        return connection

    def _connected(self) -> sqlite3.Connection | None:
        """The open file; None where there is none. Another one in its place is opened anew."""
        try:
            info = self.path.stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in its name
            self.close()
            self._refuse_after_damage()
            return None
        if self._open is None or self._file != (info.st_dev, info.st_ino):
            self.close()
            self._refuse_after_damage()
            self._file = (info.st_dev, info.st_ino)
            self._open = _opened(self.path, info, self._wait)
        return self._open

    def _refuse_after_damage(self) -> None:
        if kept := corrupt_files(self.path):
            raise Damaged(f"{kept[0]} is what is left of a damaged store; run `toolguard doctor --fix`")

    @contextmanager
    def _reported(self, *, keep_aside: bool = True) -> Iterator[None]:
        """What the system and SQLite say, as `StoreError`. SQLite's own words may quote from the file: left out."""
        import sqlite3  # noqa: PLC0415 - 10 ms, and an engine is to be ready before it looks here

        try:
            yield
        except sqlite3.DatabaseError as error:
            name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
            primary = "_".join(name.split("_")[:2])
            if primary in ("SQLITE_BUSY", "SQLITE_LOCKED"):
                raise Busy(f"{self.path} {_BUSY}") from error
            if primary not in _DAMAGE:
                raise StoreError(f"{self.path} {_WORDS.get(primary, f'cannot be used: SQLite gives {name}')}") from error
            raise self._damaged(keep_aside=keep_aside) from error
        except _NotOurs as error:
            raise self._damaged(keep_aside=keep_aside) from error
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error

    def _damaged(self, *, keep_aside: bool) -> StoreError:
        self.close()
        if not keep_aside:
            return Damaged(f"{self.path} is damaged; run `toolguard doctor --fix`")
        name = f"{NAME}.corrupt-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}"
        try:
            for end in ("", *BESIDE):
                with suppress(FileNotFoundError):  # another process was quicker
                    self.path.with_name(NAME + end).replace(self.path.with_name(name + end))
        except OSError as error:
            return Damaged(f"{self.path} is damaged and cannot be put aside: {error.strerror or error}")
        return Damaged(f"{self.path} was damaged and is kept as {name}; run `toolguard doctor --fix`")


class _NotOurs(Exception):  # noqa: N818 - an answer
    """What stands in the file is not what we write."""


def _make(path: Path) -> None:
    """Made whole before it is there, so that an empty file is one that lost what was in it. Keeps one that is there."""
    import sqlite3  # noqa: PLC0415 - as above

    files.make_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    beside = Path(name)
    try:
        connection = sqlite3.connect(beside, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
        finally:
            connection.close()
        files.belong_to_folder(beside)
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _opened(path: Path, info: os.stat_result, wait: float) -> sqlite3.Connection:
    import sqlite3  # noqa: PLC0415 - as above

    if not stat.S_ISREG(info.st_mode):
        raise StoreError(f"{path} is no file; run `toolguard doctor --fix`")
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=wait, isolation_level=None)
    try:
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        _refuse_other_schema(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_other_schema(path: Path, connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA:
        raise StoreError(f"{path} was written by a newer toolguard; update toolguard")
    if version != SCHEMA:
        raise _NotOurs


def _refuse_damaged(connection: sqlite3.Connection) -> None:
    """Looks at the whole file: of one that was cut off SQLite reads the missing part as zeros."""
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise _NotOurs


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _row(standing: Standing) -> _Row:
    """One that was never touched was made just now."""
    touched = standing.touched or time.time()
    return standing.agent, standing.session, standing.epoch, touched, msgspec.json.encode(standing)


def _saved(connection: sqlite3.Connection, row: _Row) -> list[Standing]:
    """Writes one; the one on disk where it is newer."""
    if connection.execute(_SAVE, row).rowcount:
        return []
    return _read(connection.execute(_NEWER, row[:3]))


def _read(rows: Iterable[tuple[object]]) -> list[Standing]:
    try:
        return [_DECODER.decode(_body(body)) for (body,) in rows]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _NotOurs from error


def _body(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise _NotOurs
    return value


_DECODER = msgspec.json.Decoder(Standing)
