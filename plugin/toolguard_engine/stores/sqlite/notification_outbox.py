"""Notifications on disk: `<state dir>/toolguard/notifications.db` (SQLite, WAL).

Invariants: notifications and the position in the audit log up to which they were made are stored in one transaction, so a
process that is killed loses none and makes none twice. What goes out in one message is fixed before it is first sent
(`batch`), so that a repeated attempt has the same key. One process sends (the lock); any may add.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import Busy, Damaged, Newer, StoreError, lock, lock_file, unusable
from toolguard_engine.stores.notifications import TEST, Notification, ReadUpTo, State, TargetHealth
from toolguard_engine.stores.state_files import NOTIFICATIONS as NAME
from toolguard_engine.stores.transactions import transaction

SCHEMA = 1
BUSY_MS = 3_000
REPEAT_SECONDS = 600.0
"""An event with the same `same` is only counted within this time."""

KEPT_SECONDS = 7 * 86_400.0
MAX_WAITING = 2_000
"""For one target; what exceeds it is lost."""

MAX_ERROR = 200
_TABLES = """
CREATE TABLE notification (
    id TEXT NOT NULL, target TEXT NOT NULL, event TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, data TEXT NOT NULL,
    created REAL NOT NULL, due REAL NOT NULL, until REAL NOT NULL, nonce TEXT NOT NULL, same TEXT NOT NULL,
    batch TEXT NOT NULL, attempts INTEGER NOT NULL, error TEXT NOT NULL, repeats INTEGER NOT NULL, state TEXT NOT NULL,
    changed REAL NOT NULL, logged INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (id, target));
CREATE INDEX notification_state ON notification (target, state, due);
CREATE INDEX notification_same ON notification (target, same, created) WHERE same <> '';
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_FIELDS = Notification.__struct_fields__
_COLUMNS = ", ".join(_FIELDS)
_INSERT = f"INSERT OR IGNORE INTO notification ({_COLUMNS}) VALUES ({', '.join('?' * len(_FIELDS))})"  # noqa: S608
_SELECT = f"SELECT {_COLUMNS} FROM notification"  # noqa: S608 - our own names
_FACT = "INSERT OR REPLACE INTO fact (name, value) VALUES (?, ?)"
_HEALTH = """
SELECT target, sum(state = 'waiting'), sum(state = 'sent'), sum(state = 'lost'),
coalesce(max(CASE WHEN state = 'sent' THEN changed END), 0) FROM notification GROUP BY target
"""


_DAMAGE = ("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_ERROR", "SQLITE_MISMATCH")
"""`SQLITE_ERROR`: our own statements do not fit the file."""


class _Failure(msgspec.Struct, frozen=True):
    since: float = 0.0
    error: str = ""


class NotificationOutbox:
    """`NotificationStore` in a file. Not for use by several threads."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self._open: sqlite3.Connection | None = None
        self._file = 0
        """The inode of the open file."""

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def set_aside(self) -> str:
        self.close()
        kept = f"{self.path.name}.corrupt-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}"
        try:
            for end in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    self.path.with_name(f"{self.path.name}{end}").replace(self.path.with_name(f"{kept}{end}"))
        except OSError as error:
            raise unusable(self.path, error) from error
        return kept

    def sending(self) -> AbstractContextManager[None]:
        return lock(self.path, patient=False)

    def has_sender(self) -> bool:
        if not lock_file(self.path).exists():
            return False
        try:
            with self.sending():
                return False
        except Busy:
            return True

    def position(self) -> ReadUpTo | None:
        with self._errors() as db:
            stored = _fact(db, "position")
            return msgspec.json.decode(stored, type=ReadUpTo) if stored else None

    def counts(self) -> dict[str, int]:
        with self._errors() as db:
            stored = _fact(db, "counts")
            return msgspec.json.decode(stored, type=dict[str, int]) if stored else {}

    def take(
        self, messages: Sequence[Notification], position: ReadUpTo | None = None, counts: Mapping[str, int] | None = None
    ) -> None:
        with self._errors() as db, transaction(db):
            for one in messages:
                _add(db, one)
            for name, value in (("position", position), ("counts", counts)):
                if value is not None:
                    db.execute(_FACT, (name, msgspec.json.encode(value).decode()))

    def next_batch(self, target: str, now: float, few: int, most: int, *, only_asking: bool = False) -> list[Notification]:
        with self._errors() as db, transaction(db):
            due = "WHERE target = ? AND state = 'waiting' AND due <= ?"
            begun = db.execute(f"{_SELECT} {due} AND batch <> '' ORDER BY created", (target, now)).fetchall()
            if begun:
                first = _notification(begun[0])
                return [one for one in map(_notification, begun) if one.batch == first.batch]
            due += " AND event IN ('held', 'expiring')" if only_asking else ""
            order = "ORDER BY event IN ('held', 'expiring') DESC, created, id"
            rows = db.execute(f"{_SELECT} {due} {order} LIMIT ?", (target, now, most)).fetchall()
            if not rows:
                return []
            rows = rows if len(rows) > few else rows[:1]
            batch = sha256("\n".join([target, *(row[0] for row in rows)]).encode()).hexdigest()[:32]
            keys = [(batch, row[0], target) for row in rows]
            db.executemany("UPDATE notification SET batch = ? WHERE id = ? AND target = ?", keys)
            return [msgspec.structs.replace(_notification(row), batch=batch) for row in rows]

    def finish(self, batch: Sequence[Notification], state: State, now: float, error: str = "") -> None:
        with self._errors() as db, transaction(db):
            keys = [(state, error[:MAX_ERROR], now, one.id, one.target) for one in batch]
            db.executemany(
                "UPDATE notification SET state = ?, error = ?, changed = ?, attempts = attempts + 1"
                " WHERE id = ? AND target = ? AND state = 'waiting'",
                keys,
            )
            for target in {one.target for one in batch} if state in ("sent", "lost") else ():
                _set_failure(db, target, now, "" if state == "sent" else error)

    def retry(self, batch: Sequence[Notification], due: float, now: float, error: str) -> None:
        with self._errors() as db, transaction(db):
            keys = [(due, error[:MAX_ERROR], one.id, one.target) for one in batch]
            db.executemany(
                "UPDATE notification SET due = ?, error = ?, attempts = attempts + 1"
                " WHERE id = ? AND target = ? AND state = 'waiting'",
                keys,
            )
            for target in {one.target for one in batch}:
                _set_failure(db, target, now, error)

    def drop_answered(self, pending: Collection[str], now: float) -> None:
        with self._errors() as db, transaction(db):
            rows = db.execute(
                "SELECT DISTINCT nonce FROM notification WHERE state = 'waiting' AND event IN ('held', 'expiring')"
            )
            over = [(now, nonce) for (nonce,) in rows.fetchall() if nonce not in pending]
            db.executemany(
                "UPDATE notification SET state = 'dropped', changed = ?"
                " WHERE nonce = ? AND state = 'waiting' AND event IN ('held', 'expiring')",
                over,
            )

    def give_up(self, targets: Collection[str], now: float) -> None:
        with self._errors() as db, transaction(db):
            db.execute(
                "UPDATE notification SET state = 'lost', changed = ?, error = coalesce(nullif(error, ''), 'too late')"
                " WHERE state = 'waiting' AND until <= ?",
                (now, now),
            )
            for (target,) in db.execute("SELECT DISTINCT target FROM notification WHERE state = 'waiting'").fetchall():
                if target not in targets:  # a test may be for one that the gateway has yet to load; it ends soon by itself
                    self._end(db, target, now, "the target is no longer in the settings", 0, but=TEST)
                self._end(db, target, now, "too many notifications were waiting", MAX_WAITING)
            db.execute("DELETE FROM notification WHERE state <> 'waiting' AND changed < ?", (now - KEPT_SECONDS,))

    @staticmethod
    def _end(db: sqlite3.Connection, target: str, now: float, error: str, keep: int, but: str = "") -> None:
        """`but`: an event that is left."""
        db.execute(
            "UPDATE notification SET state = 'lost', changed = ?, error = ? WHERE rowid IN (SELECT rowid FROM notification"
            " WHERE target = ? AND state = 'waiting' AND event <> ? ORDER BY created DESC LIMIT -1 OFFSET ?)",
            (now, error, target, but, keep),
        )

    def sent_since(self, target: str, since: float) -> list[float]:
        with self._errors() as db:
            query = (
                "SELECT max(changed) FROM notification WHERE target = ? AND state = 'sent' AND changed > ? GROUP BY batch"
            )
            return sorted(at for (at,) in db.execute(query, (target, since)))

    def unlogged(self) -> list[Notification]:
        with self._errors() as db:
            return [_notification(row) for row in db.execute(f"{_SELECT} WHERE state = 'lost' AND logged = 0 LIMIT 100")]

    def logged(self, messages: Sequence[Notification]) -> None:
        with self._errors() as db, transaction(db):
            keys = [(one.id, one.target) for one in messages]
            db.executemany("UPDATE notification SET logged = 1 WHERE id = ? AND target = ?", keys)

    def state_of(self, name: str, target: str) -> Notification | None:
        with self._errors() as db:
            row = db.execute(f"{_SELECT} WHERE id = ? AND target = ?", (name, target)).fetchone()
            return _notification(row) if row else None

    def health(self) -> list[TargetHealth]:
        if not self.path.exists():
            return []
        with self._errors() as db:
            states = {row[0]: TargetHealth(*row) for row in db.execute(_HEALTH).fetchall()}
            for name, value in db.execute("SELECT name, value FROM fact WHERE name LIKE 'failing:%'").fetchall():
                failure, target = msgspec.json.decode(value, type=_Failure), name.partition(":")[2]
                known = states.get(target, TargetHealth(target))
                states[target] = msgspec.structs.replace(known, failing_since=failure.since, error=failure.error)
            return sorted(states.values(), key=lambda state: state.target)

    @contextmanager
    def _errors(self) -> Iterator[sqlite3.Connection]:
        """The connection; errors of SQLite become `StoreError`."""
        try:
            yield self._connected()
        except (sqlite3.Error, msgspec.DecodeError, OSError) as error:
            self.close()
            kind = Damaged if getattr(error, "sqlite_errorname", "") in _DAMAGE else StoreError
            raise kind(f"{self.path}: {error}") from error

    def _connected(self) -> sqlite3.Connection:
        """Another thread or process may have set the file aside: what goes into the old one would be lost."""
        with suppress(FileNotFoundError):
            if self._open is not None and self.path.stat().st_ino != self._file:
                self.close()
        if self._open is None:
            if not self.path.exists():
                # Never open the file itself here: closing it would release the locks of this process's other connections,
                # and the next process to close the store would remove the WAL that they write to.
                atomic.create(self.path, b"")
            atomic.belong_to_folder(self.path)
            db = sqlite3.connect(self.path, isolation_level=None, timeout=BUSY_MS / 1_000)
            try:
                _prepare(db)
            except BaseException:
                db.close()
                raise
            self._open, self._file = db, self.path.stat().st_ino
        return self._open


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    with transaction(db):
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA:
            raise Newer(Path(NAME))
        if version < SCHEMA:
            for statement in filter(str.strip, _TABLES.split(";")):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {SCHEMA}")


def _add(db: sqlite3.Connection, one: Notification) -> None:
    if one.same:
        repeated = db.execute(
            "UPDATE notification SET repeats = repeats + 1 WHERE target = ? AND same = ? AND created > ? AND id <> ?",
            (one.target, one.same, one.created - REPEAT_SECONDS, one.id),
        )
        if repeated.rowcount:
            return
    values = [getattr(one, name) for name in _FIELDS]
    values[_FIELDS.index("data")] = msgspec.json.encode(one.data).decode()
    db.execute(_INSERT, values)


def _notification(row: tuple[Any, ...]) -> Notification:
    fields = dict(zip(_FIELDS, row, strict=True))
    return msgspec.convert({**fields, "data": msgspec.json.decode(fields["data"])}, Notification, strict=False)


def _fact(db: sqlite3.Connection, name: str) -> str:
    row = db.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


def _set_failure(db: sqlite3.Connection, target: str, now: float, error: str) -> None:
    name = f"failing:{target}"
    if not error:
        db.execute("DELETE FROM fact WHERE name = ?", (name,))
        return
    known = _fact(db, name)
    since = msgspec.json.decode(known, type=_Failure).since if known else now
    db.execute(_FACT, (name, msgspec.json.encode(_Failure(since, error[:MAX_ERROR])).decode()))
