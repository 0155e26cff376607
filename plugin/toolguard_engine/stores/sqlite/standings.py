"""The agents' standings: `<state dir>/toolguard/standings.db` (SQLite, WAL), shared by all engines and the command line.

Invariant: what was spent does not come back by accident. A damaged file is kept as `standings.db.corrupt-<time>`, and while
one of those exists nothing is read or written (`toolguard doctor --fix` moves it away). A change by the user in another
process is not undone by what an engine knew before. Engines that share the file share the spending: one that finds that
another wrote since then adds its own part (`standing.merged`). A row is as old as `witnessed_clock` says, so a clock that
is set wrong makes no engine forget what was spent. Members of a row that this version does not know are kept.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from toolguard_engine.approvals.standing import IDLE_SECONDS, MAX_STANDINGS, Base, Key, Standing, merged
from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import Busy, Damaged, Newer, StoreError, corrupt_files, unusable, with_unknown
from toolguard_engine.stores.sqlite.witnessed_clock import WitnessedClock
from toolguard_engine.stores.state_files import STANDINGS as NAME
from toolguard_engine.stores.state_files import STANDINGS_BESIDE as BESIDE
from toolguard_engine.stores.transactions import transaction

if TYPE_CHECKING:
    import sqlite3

BUSY_SECONDS = 0.05
"""How long an engine waits for another process: a call may wait for it."""

PATIENT_SECONDS = 2.0
CLOCK_STEP = 60.0
LATEST = 1e11
"""What the witnessed clock can show."""

SCHEMA = 1
MAX_STORED = 100_000
"""Rows on disk. If an engine that starts finds more, those without spending go first, then those that are idle longest."""

MIN_COMPACTED = 256
"""Pages; a smaller file is not worth the work."""

_PRAGMAS = (
    "trusted_schema = OFF",
    "cell_size_check = ON",
    "synchronous = NORMAL",
    "checkpoint_fullfsync = ON",
    "journal_size_limit = 4194304",
)
_TABLE = """
CREATE TABLE standing (
    agent TEXT NOT NULL, session TEXT NOT NULL, epoch INTEGER NOT NULL, revision INTEGER NOT NULL, touched REAL NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (agent, session)
) WITHOUT ROWID
"""
_ADDED = (
    "ALTER TABLE standing ADD COLUMN witnessed REAL",
    "CREATE TABLE clock (witnessed REAL NOT NULL)",
    "INSERT INTO clock VALUES (0)",
)
"""What a file of version 0.1.0 lacks; that version can still use a file that has it. A row without `witnessed` was written
by it, and is dated when an engine starts."""

_SAVE = """
INSERT INTO standing (agent, session, epoch, revision, touched, body, witnessed)
VALUES (?, ?, ?, ?, ?, ?, (SELECT witnessed FROM clock))
ON CONFLICT (agent, session) DO UPDATE SET epoch = excluded.epoch, revision = excluded.revision,
touched = excluded.touched, body = excluded.body, witnessed = excluded.witnessed
"""
_COLUMNS = "SELECT agent, session, epoch, revision, body FROM standing"
_CURRENT = "WHERE coalesce(witnessed, 1e12) >= ?"
_ONE = f"{_COLUMNS} {_CURRENT} AND agent = ? AND session = ?"
_THERE = f"SELECT epoch, revision FROM standing {_CURRENT} AND agent = ? AND session = ?"  # noqa: S608 - our own texts
_KNOWN = f"{_COLUMNS} {_CURRENT} ORDER BY coalesce(witnessed, 1e12) DESC, touched DESC LIMIT ?"
_DATE = "UPDATE standing SET witnessed = (SELECT witnessed FROM clock) WHERE witnessed IS NULL"
_FORGET = "DELETE FROM standing WHERE witnessed < ?"
_HAS_SPENT = "coalesce(json_extract(CAST(body AS TEXT), '$.spent'), 0) > 0"
_TOO_MANY = f"""
SELECT agent, session, {_HAS_SPENT} FROM standing ORDER BY {_HAS_SPENT} DESC, witnessed DESC, touched DESC LIMIT -1 OFFSET ?
"""  # noqa: S608 - our own texts
_DROP = "DELETE FROM standing WHERE agent = ? AND session = ?"
_BUSY = "is locked by another process; check whether one of your processes hangs, then try again"
_WORDS = {
    "SQLITE_FULL": "cannot grow: the disk is full",
    "SQLITE_READONLY": "cannot be written; check the owners of the file and its folder",
    "SQLITE_PERM": "cannot be opened; check the owners of the file and its folder",
    "SQLITE_CANTOPEN": "cannot be opened; check the owners of the file and its folder",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error",
}
_DAMAGE = frozenset({"SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_ERROR", "SQLITE_MISMATCH"})
"""`SQLITE_ERROR`: our own statements do not fit the file."""

Change = Callable[[Standing], Standing | None]
_Row = tuple[object, object, object, object, object]
_Stored = tuple[Standing, int, bytes]
"""A standing, its revision, and its body if that has members that this version does not know."""


class FileStandings:
    """Those of one state directory. Raises `StoreError`: `Busy` if another process writes, `Damaged` if the file is.

    One connection is kept open until `close`. `patient`: for the command line, where no call waits meanwhile.
    """

    def __init__(self, state_dir: Path, *, patient: bool = False, clock: WitnessedClock | None = None) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self._wait = PATIENT_SECONDS if patient else BUSY_SECONDS
        self._clock = clock or WitnessedClock()
        self._open: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._known: dict[Key, _Known] = {}
        self._most = MAX_STANDINGS
        self._lost_file = False
        self.trouble = ""
        """What must be reported about the file, once; empty if there is nothing."""

    def load(self, *, patient: bool = False) -> list[Standing]:
        """Those of the last `IDLE_SECONDS`, at most `MAX_STANDINGS`, the latest first. Older ones are removed, and all but
        `MAX_STORED`.

        `patient`: for an engine that starts, which could give back what was spent if it did not know them.
        """
        with self._reported():
            connection = self._connected()
            if connection is None:
                return []
            wait = PATIENT_SECONDS if patient else self._wait
            connection.execute(f"PRAGMA busy_timeout = {wait * 1000:.0f}")
            _refuse_damaged(connection)
            with transaction(connection):
                oldest = self._advance(connection) - IDLE_SECONDS
                connection.execute(_DATE)
                connection.execute(_FORGET, (oldest,))
                self._drop(connection)
                version, rows = _version(connection), list(_read(connection.execute(_KNOWN, (oldest, MAX_STANDINGS))))
            known = [_Known.make(standing, revision, version, raw) for standing, revision, raw in reversed(rows)]
            self._remember(known)
            if patient:
                _compact(connection)
            connection.execute(f"PRAGMA busy_timeout = {self._wait * 1000:.0f}")
            return [standing for standing, *_ in rows]

    def _advance(self, connection: sqlite3.Connection) -> float:
        """What the witnessed clock shows. It is stored when it has moved on by `CLOCK_STEP`."""
        stored = _witnessed(connection)
        now = self._clock.now(stored)
        if now - stored >= CLOCK_STEP:
            connection.execute("UPDATE clock SET witnessed = ?", (now,))
        return now

    def _oldest(self, connection: sqlite3.Connection) -> float:
        """What was last written before this is forgotten."""
        return self._clock.now(_witnessed(connection)) - IDLE_SECONDS

    def _drop(self, connection: sqlite3.Connection) -> None:
        (count,) = connection.execute("SELECT count(*) FROM standing").fetchone()
        if count > MAX_STORED:
            dropped = connection.execute(_TOO_MANY, (MAX_STORED,)).fetchall()
            connection.executemany(_DROP, [(agent, session) for agent, session, _ in dropped])
            if spent := sum(has_spent for *_, has_spent in dropped):
                self.trouble = f"{self.path} had more than {MAX_STORED:,} sessions; partly spent budgets forgotten: {spent}"

    def look(self) -> list[Standing]:
        """Returns the same as `load`; changes nothing, and leaves a damaged file in place."""
        with self._reported(keep_aside=False):
            connection = self._connected()
            if connection is None:
                return []
            _refuse_damaged(connection)
            rows = connection.execute(_KNOWN, (self._oldest(connection), MAX_STANDINGS))
            return [standing for standing, *_ in _read(rows)]

    def other(self, key: Key, ours: Standing | None) -> Standing | None:
        """The stored standing if it differs from what this engine knows (`ours`, None if nothing): the user or another
        engine wrote it. It includes what happened here and is not saved yet, unless there was a checkpoint."""
        with self._reported():
            connection = self._connected()
            if connection is None:
                return None
            version, known = _version(connection), self._known.get(key)
            if known is None or ours is None or known.standing() is not ours:
                known = None
            elif known.version == version:
                return None  # no other process has written since
            row = next(_read(connection.execute(_ONE, (self._oldest(connection), *key))), None)
            if row is None:
                return None
            theirs, revision, raw = row
            if ours is None or theirs.epoch > ours.epoch:
                now = theirs
            elif theirs.epoch < ours.epoch or (known and known.revision == revision):
                self._remember([known._replace(version=version)] if known else [])
                return None
            else:
                now = merged(ours, known.base if known else Base.fresh(ours), theirs)
            self._remember([_Known.make(now, revision, version, raw, theirs)])
            return now

    def save(self, changed: dict[Key, Standing], *, durable: bool = False) -> list[Standing]:
        """Writes these, all or none. Returns those that are stored with other values than given.

        A later epoch on disk stays. What another engine wrote in the same epoch is added to.
        """
        with self._reported():
            connection = self._made()
            wanted, anew = list(changed.values()), 0
            if self._lost_file:  # other engines write what they know themselves
                known = [(key, known_standing.standing()) for key, known_standing in self._known.items()]
                wanted += [standing for key, standing in known if standing is not None and key not in changed]
                anew = len(wanted)
            with _synced(connection, durable=durable), transaction(connection):
                version, oldest = _version(connection), self._advance(connection) - IDLE_SECONDS
                stored = [self._written(connection, standing, version, oldest) for standing in wanted]
            self._remember([known for _, known in stored])
            if anew:
                self.trouble = f"{self.path} was removed or replaced while it was in use; {anew} budgets are written again"
            self._lost_file = False
            return [standing for (standing, _), given in zip(stored, wanted, strict=True) if standing is not given]

    def _written(
        self, connection: sqlite3.Connection, ours: Standing, version: int, oldest: float
    ) -> tuple[Standing, _Known]:
        """Writes one, unless there is a newer one. Returns the stored one."""
        epoch, revision = connection.execute(_THERE, (oldest, *ours.key)).fetchone() or (-1, 0)
        known = self._known.get(ours.key)
        if known is not None and known.standing() is not ours:  # forgotten meanwhile, and started anew
            known = None
        raw = known.raw if known else b""
        if epoch > ours.epoch or (revision and (known is None or known.revision != revision)):
            theirs, revision, raw = next(_read(connection.execute(_ONE, (oldest, *ours.key))))
            if epoch > ours.epoch:
                return theirs, _Known.make(theirs, revision, version, raw)
            if epoch == ours.epoch:
                ours = merged(ours, known.base if known else Base.fresh(ours), theirs)
        row = _row(ours, revision + 1, raw)
        connection.execute(_SAVE, row)
        return ours, _Known.make(ours, revision + 1, version, raw and row[-1])

    def _remember(self, entries: list[_Known]) -> None:
        for known in entries:
            if (standing := known.standing()) is not None:
                self._known[standing.key] = known
        if len(self._known) > self._most:
            self._known = {
                key: known_standing for key, known_standing in self._known.items() if known_standing.standing() is not None
            }
            self._most = max(MAX_STANDINGS, 2 * len(self._known))

    def checkpoint(self, change: Change) -> list[tuple[Standing, Standing]]:
        """Those that `change` changes, before and after; all or none."""
        with self._reported():
            connection = self._connected()
            if connection is None:
                return []
            with _synced(connection), transaction(connection):
                known = _read(connection.execute(_KNOWN, (self._advance(connection) - IDLE_SECONDS, MAX_STORED)))
                changed = [
                    (standing, after, at, raw) for standing, at, raw in known if (after := change(standing)) is not None
                ]
                connection.executemany(_SAVE, [_row(after, revision + 1, raw) for _, after, revision, raw in changed])
            return [(before, after) for before, after, *_ in changed]

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
        """The open file; None if it does not exist. A replaced file is reopened."""
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
                self._known = {key: known._replace(revision=0, version=-1) for key, known in self._known.items()}
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
                raise StoreError(f"{self.path} {_WORDS.get(primary, f'cannot be used: SQLite reports {name}')}") from error
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
            return Damaged(f"{self.path} is damaged and cannot be moved aside: {error.strerror or error}")
        return Damaged(f"{self.path} was damaged and is kept as {name}; run `toolguard doctor --fix`")


class _Known(NamedTuple):
    """What was last read or written of a standing. `standing` refers to the caller's own object, which keeps changing, and
    does not keep it; `revision` counts all writes; `version` is SQLite's `data_version`, which changes when another
    connection writes; `raw`: see `_Stored`."""

    standing: weakref.ref[Standing]
    revision: int
    version: int
    base: Base
    raw: bytes

    @classmethod
    def make(cls, standing: Standing, revision: int, version: int, raw: bytes, stored: Standing | None = None) -> _Known:
        return cls(weakref.ref(standing), revision, version, Base.copy(stored or standing), raw)


class _NotOurs(Exception):  # noqa: N818 - an answer
    """The file's content is not what toolguard writes."""


def _make(path: Path) -> None:
    """Made complete before it is linked, so that an empty file is one that lost its content. Keeps an existing file."""
    import sqlite3  # noqa: PLC0415 - as above

    atomic.make_folder(path.parent)
    handle, name = tempfile.mkstemp(atomic.TEMPORARY, f".{path.name}.", path.parent)
    os.close(handle)
    beside = Path(name)
    try:
        connection = sqlite3.connect(beside, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            for statement in (_TABLE, *_ADDED):
                connection.execute(statement)
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
        _add_what_is_missing(connection)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _synced(connection: sqlite3.Connection, *, durable: bool = True) -> Iterator[None]:
    """Transactions within are on the disk when they end, with all before them. Others survive the end of a process, and a
    power failure as far as the system wrote them."""
    if not durable:
        yield
        return
    connection.execute("PRAGMA synchronous = FULL")
    try:
        yield
    finally:
        connection.execute("PRAGMA synchronous = NORMAL")


def _refuse_other_schema(path: Path, connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA:
        raise Newer(path)
    if version != SCHEMA:
        raise _NotOurs


def _add_what_is_missing(connection: sqlite3.Connection) -> None:
    has_clock = "SELECT 1 FROM sqlite_master WHERE name = 'clock'"
    if connection.execute(has_clock).fetchone() is None:
        with transaction(connection):
            if connection.execute(has_clock).fetchone() is None:  # another process may have been quicker
                for statement in _ADDED:
                    connection.execute(statement)


def _witnessed(connection: sqlite3.Connection) -> float:
    row = connection.execute("SELECT witnessed FROM clock").fetchone()
    if row is None or not isinstance(row[0], float) or not 0 <= row[0] <= LATEST:
        raise _NotOurs
    return row[0]


def _compact(connection: sqlite3.Connection) -> None:
    """Makes the file smaller if most of it is unused. What prevents that now does not matter."""
    import sqlite3  # noqa: PLC0415 - as above

    ((pages,), (free,)) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count"))
    if pages > MIN_COMPACTED and 2 * free > pages:
        with suppress(sqlite3.OperationalError):
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _refuse_damaged(connection: sqlite3.Connection) -> None:
    """Checks the whole file: SQLite reads the missing part of a truncated one as zeros."""
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise _NotOurs


def _version(connection: sqlite3.Connection) -> int:
    """Changes when another connection has written."""
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return int(version)


def _row(standing: Standing, revision: int, raw: bytes) -> tuple[str, str, int, int, float, bytes]:
    """A standing that was never touched was made just now. `raw`: see `_Stored`."""
    touched, body = standing.touched or time.time(), msgspec.json.encode(standing)
    if raw:
        parts = (msgspec.json.decode(part) for part in (body, msgspec.json.encode(_DECODER.decode(raw)), raw))
        body = msgspec.json.encode(with_unknown(*parts))
    return standing.agent, standing.session, standing.epoch, revision, touched, body


def _read(rows: Iterable[_Row]) -> Iterator[_Stored]:
    try:
        for row in rows:
            yield _checked(*row)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _NotOurs from error


def _checked(agent: object, session: object, epoch: object, revision: object, body: object) -> _Stored:
    if not isinstance(body, bytes) or not isinstance(revision, int) or revision < 1:
        raise _NotOurs
    standing = _DECODER.decode(body)
    if (standing.agent, standing.session, standing.epoch) != (agent, session, epoch) or not standing.seen.is_sound:
        raise _NotOurs
    return standing, revision, b"" if msgspec.json.encode(standing) == body else body


_DECODER = msgspec.json.Decoder(Standing)
