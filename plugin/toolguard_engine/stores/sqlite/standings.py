"""The agents' standings: `<state dir>/toolguard/standings.db` (SQLite, WAL), shared by all engines and the command line.

Invariant: what was spent does not come back by accident. A damaged file is kept as `standings.db.corrupt-<time>`, and while
one of those exists nothing is read or written (`toolguard doctor --fix` moves it away). A change by the user in another
process is not undone by what an engine knew before. Engines that share the file share the spending: one that finds that
another wrote since then adds its own part (`standing.merged`).
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from toolguard_engine.approvals.standing import IDLE_SECONDS, MAX_STANDINGS, Base, Key, Standing, merged
from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import Busy, Damaged, Newer, StoreError, corrupt_files, unusable
from toolguard_engine.stores.state_files import STANDINGS as NAME
from toolguard_engine.stores.state_files import STANDINGS_BESIDE as BESIDE
from toolguard_engine.stores.transactions import transaction

if TYPE_CHECKING:
    import sqlite3

BUSY_SECONDS = 0.05
"""How long an engine waits for another process: a call may wait for it."""

PATIENT_SECONDS = 2.0
SCHEMA = 1

_PRAGMAS = ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = NORMAL", "journal_size_limit = 4194304")
_TABLE = """
CREATE TABLE standing (
    agent TEXT NOT NULL, session TEXT NOT NULL, epoch INTEGER NOT NULL, revision INTEGER NOT NULL, touched REAL NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (agent, session)
) WITHOUT ROWID
"""
_SAVE = """
INSERT INTO standing (agent, session, epoch, revision, touched, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, session) DO UPDATE
SET epoch = excluded.epoch, revision = excluded.revision, touched = excluded.touched, body = excluded.body
"""
_THERE = "SELECT epoch, revision FROM standing WHERE agent = ? AND session = ?"
_COLUMNS = "SELECT agent, session, epoch, revision, body FROM standing"
_ONE = f"{_COLUMNS} WHERE agent = ? AND session = ?"
_KNOWN = f"{_COLUMNS} WHERE touched >= ? ORDER BY touched DESC LIMIT ?"
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
"""`SQLITE_ERROR`: our own statements do not fit the file."""

Change = Callable[[Standing], Standing | None]
_Row = tuple[object, object, object, object, object]


class FileStandings:
    """Those of one state directory. Raises `StoreError`: `Busy` if another process writes, `Damaged` if the file is.

    One connection is kept open until `close`. `patient`: for the command line, where no call waits meanwhile.
    """

    def __init__(self, state_dir: Path, *, patient: bool = False) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self._wait = PATIENT_SECONDS if patient else BUSY_SECONDS
        self._open: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._known: dict[Key, _Known] = {}
        self._lost_file = False
        self.trouble = ""
        """What must be reported about the file, once; empty if there is nothing."""

    def load(self, *, patient: bool = False) -> list[Standing]:
        """Those of the last `IDLE_SECONDS`, at most `MAX_STANDINGS`, the latest first; the rest is removed.

        `patient`: for an engine that starts, which could give back what was spent if it did not know them.
        """
        with self._reported():
            connection = self._connected()
            if connection is None:
                return []
            wait = PATIENT_SECONDS if patient else self._wait
            connection.execute(f"PRAGMA busy_timeout = {wait * 1000:.0f}")
            _refuse_damaged(connection)
            oldest = time.time() - IDLE_SECONDS
            with transaction(connection):
                connection.execute(_FORGET, (oldest,))
                connection.execute(_FORGET_REST, (MAX_STANDINGS,))
                version, found = _version(connection), _read(connection.execute(_KNOWN, (oldest, MAX_STANDINGS)))
            self._remember([_Known(each, revision, version, Base.of(each)) for each, revision in reversed(found)])
            connection.execute(f"PRAGMA busy_timeout = {self._wait * 1000:.0f}")
            return [each for each, _ in found]

    def look(self) -> list[Standing]:
        """As `load`; changes nothing, and leaves a damaged file in place."""
        with self._reported(keep_aside=False):
            connection = self._connected()
            if connection is None:
                return []
            _refuse_damaged(connection)
            rows = connection.execute(_KNOWN, (time.time() - IDLE_SECONDS, MAX_STANDINGS))
            return [standing for standing, _ in _read(rows)]

    def other(self, key: Key, ours: Standing | None) -> Standing | None:
        """The stored standing if it differs from what this engine knows (`ours`, None if nothing): the user or another
        engine wrote it. It includes what happened here and is not saved yet, unless there was a checkpoint."""
        with self._reported():
            connection = self._connected()
            if connection is None:
                return None
            version, known = _version(connection), self._known.get(key)
            if known is None or known.standing is not ours:
                known = None
            elif known.version == version:
                return None  # no other process has written since
            found = _read(connection.execute(_ONE, key))
            if not found:
                return None
            ((theirs, revision),) = found
            if ours is None or theirs.epoch > ours.epoch:
                now = theirs
            elif theirs.epoch < ours.epoch or (known and known.revision == revision):
                self._remember([known._replace(version=version)] if known else [])
                return None
            else:
                now = merged(ours, known.base if known else Base.fresh(ours), theirs)
            self._remember([_Known(now, revision, version, Base.of(theirs))])
            return now

    def save(self, changed: dict[Key, Standing]) -> list[Standing]:
        """Writes these, all or none. Returns those that are stored with other values than given.

        A later epoch on disk stays. What another engine wrote in the same epoch is added to.
        """
        with self._reported():
            connection = self._made()
            wanted, anew = list(changed.values()), 0
            if self._lost_file:  # other engines write what they know themselves
                wanted += [each.standing for key, each in self._known.items() if key not in changed]
                anew = len(wanted)
            with transaction(connection):
                version = _version(connection)
                written = [self._written(connection, each, version) for each in wanted]
            self._remember(written)
            if anew:
                self.trouble = f"{self.path} was removed or replaced while it was in use; {anew} budgets are written anew"
            self._lost_file = False
            return [each.standing for each, given in zip(written, wanted, strict=True) if each.standing is not given]

    def _written(self, connection: sqlite3.Connection, ours: Standing, version: int) -> _Known:
        """Writes one, unless there is a newer one. Returns the stored one."""
        epoch, revision = connection.execute(_THERE, ours.key).fetchone() or (-1, 0)
        known = self._known.get(ours.key)
        if known is not None and known.standing is not ours:  # forgotten meanwhile, and started anew
            known = None
        if epoch > ours.epoch or (epoch == ours.epoch and (known is None or known.revision != revision)):
            ((theirs, revision),) = _read(connection.execute(_ONE, ours.key))
            if epoch > ours.epoch:
                return _Known(theirs, revision, version, Base.of(theirs))
            ours = merged(ours, known.base if known else Base.fresh(ours), theirs)
        connection.execute(_SAVE, _row(ours, revision + 1))
        return _Known(ours, revision + 1, version, Base.of(ours))

    def _remember(self, found: list[_Known]) -> None:
        for each in found:
            self._known.pop(each.standing.key, None)
            self._known[each.standing.key] = each
        while len(self._known) > MAX_STANDINGS:
            del self._known[next(iter(self._known))]

    def checkpoint(self, change: Change) -> list[tuple[Standing, Standing]]:
        """Those that `change` changes, before and after; all or none."""
        with self._reported():
            connection = self._connected()
            if connection is None:
                return []
            with transaction(connection):
                known = _read(connection.execute(_KNOWN, (time.time() - IDLE_SECONDS, MAX_STANDINGS)))
                changed = [(each, after, revision) for each, revision in known if (after := change(each)) is not None]
                connection.executemany(_SAVE, [_row(after, revision + 1) for _, after, revision in changed])
            return [(before, after) for before, after, _ in changed]

    def close(self) -> None:
        """Closes the connection; the next call opens it again."""
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
        """The open file; None if it does not exist. A replaced file is opened anew."""
        try:
            info = self.path.stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in its name
            self.close()
            self._file = (0, 0)  # a new one may get the same number
            self._refuse_after_damage()
            return None
        if self._open is None or self._file != (info.st_dev, info.st_ino):
            self.close()
            self._refuse_after_damage()
            if self._known and self._file != (info.st_dev, info.st_ino):
                self._lost_file = True
                self._known = {key: each._replace(revision=0, version=-1) for key, each in self._known.items()}
            self._file = (info.st_dev, info.st_ino)
            self._open = _opened(self.path, info, self._wait)
        return self._open

    def _refuse_after_damage(self) -> None:
        if kept := corrupt_files(self.path):
            raise Damaged(f"{kept[0]} is what is left of a damaged store; run `toolguard doctor --fix`")

    @contextmanager
    def _reported(self, *, keep_aside: bool = True) -> Iterator[None]:
        """System and SQLite errors as `StoreError`. SQLite's own messages may quote from the file and are left out."""
        import sqlite3  # noqa: PLC0415 - 10 ms, and an engine must be ready before it needs this

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


class _Known(NamedTuple):
    """What was last read or written of a standing. `standing` is the caller's own object, which keeps changing; `revision`
    counts all writes; `version` is SQLite's `data_version`, which changes when another connection writes."""

    standing: Standing
    revision: int
    version: int
    base: Base


class _NotOurs(Exception):  # noqa: N818 - an answer
    """The file's content is not what toolguard writes."""


def _make(path: Path) -> None:
    """Made complete before it is linked, so that an empty file is one that lost its content. Keeps an existing file."""
    import sqlite3  # noqa: PLC0415 - as above

    atomic.make_folder(path.parent)
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
        atomic.belong_to_folder(beside)
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _opened(path: Path, info: os.stat_result, wait: float) -> sqlite3.Connection:
    import sqlite3  # noqa: PLC0415 - as above

    if not stat.S_ISREG(info.st_mode):
        raise StoreError(f"{path} is not a file; run `toolguard doctor --fix`")
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
        raise Newer(path)
    if version != SCHEMA:
        raise _NotOurs


def _refuse_damaged(connection: sqlite3.Connection) -> None:
    """Checks the whole file: SQLite reads the missing part of a truncated one as zeros."""
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise _NotOurs


def _version(connection: sqlite3.Connection) -> int:
    """Changes when another connection has written."""
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return int(version)


def _row(standing: Standing, revision: int) -> tuple[str, str, int, int, float, bytes]:
    """A standing that was never touched was made just now."""
    touched = standing.touched or time.time()
    return standing.agent, standing.session, standing.epoch, revision, touched, msgspec.json.encode(standing)


def _read(rows: Iterable[_Row]) -> list[tuple[Standing, int]]:
    """With their revisions."""
    try:
        return [_checked(*row) for row in rows]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _NotOurs from error


def _checked(agent: object, session: object, epoch: object, revision: object, body: object) -> tuple[Standing, int]:
    if not isinstance(body, bytes) or not isinstance(revision, int) or revision < 1:
        raise _NotOurs
    standing = _DECODER.decode(body)
    if (standing.agent, standing.session, standing.epoch) != (agent, session, epoch) or not standing.seen.is_sound:
        raise _NotOurs
    return standing, revision


_DECODER = msgspec.json.Decoder(Standing)
