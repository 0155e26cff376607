"""The file of held calls and its journal.

A ledger of up to `LEAST` bytes is one file, which is replaced with each change (format 1). A larger one is in the file as it
was once (format 2), and what has changed since is in the journal beside it, one line for each change. The journal begins
with the id of the file: one of another file is not read. When it has become as long as the file, the file is replaced.

A line of the journal begins with a checksum of itself and of the line before it. Each is on the disk before the next is
written, so only the last one can be half written or not on the disk; then its change was not acknowledged, and the next
one takes its place. Any other line that does not fit is damage. Whoever reads again reads only what is new.

Each change touches the file, because others watch it.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine.stores import atomic, disk
from toolguard_engine.stores.locked import MAX_BYTES, LockedFile, unusable

WHOLE, JOURNALLED = 1, 2
"""The formats."""
LEAST = 64 * 1024
"""Bytes of a file that is replaced with each change, and of a journal for which a larger one is not."""
ATTEMPTS = 5
"""How often a ledger is read that others replace meanwhile."""
_HEAD_BYTES = 64
_SUM_SIZE = 32
_ID_BYTES = 16


class StoredLedger(msgspec.Struct):
    """`mac` signs the outbox: a line that another program put there must not reach the audit log. `id`: the journal belongs
    to the file with this id; empty for a file without one."""

    v: int = JOURNALLED
    id: str = ""
    entries: list[msgspec.Raw] = []
    outbox: list[dict[str, Any]] = []
    mac: str = ""


class _Change(msgspec.Struct, omit_defaults=True):
    """The entries that are new or differ, the nonces of those that are gone, and the outbox."""

    put: list[msgspec.Raw] = []
    drop: list[str] = []
    outbox: list[dict[str, Any]] = []
    mac: str = ""


class _Known:
    """What was read of a file and its journal. `mark`: of the file; `end`: of the journal as far as it was read, 0 if it is
    of another file; `chain`: the last checksum."""

    def __init__(self, mark: _Mark, base: StoredLedger, names: list[str]) -> None:
        self.mark = mark
        self.entries = dict(zip(names, base.entries, strict=True))
        self.id, self.outbox, self.mac = base.id, base.outbox, base.mac
        self.end, self.chain = 0, base.id

    def value(self) -> StoredLedger:
        return StoredLedger(JOURNALLED, self.id, list(self.entries.values()), self.outbox, self.mac)

    def follow(self, change: _Change, names: list[str]) -> None:
        self.entries |= dict(zip(names, change.put, strict=True))
        for nonce in change.drop:
            self.entries.pop(nonce, None)
        self.outbox, self.mac = change.outbox, change.mac


_Mark = tuple[int, int, int, bytes]
_NO_MARK: _Mark = (0, 0, 0, b"")
"""What was read of a file that others may have replaced meanwhile is read anew the next time."""


class _AnotherJournalError(Exception):
    """It is not the one that was read before."""


class LedgerFile:
    """`names`: the nonces of entries; raises `msgspec.ValidationError`. Without `journals` there is only the file."""

    def __init__(
        self, path: Path, names: Callable[[list[msgspec.Raw]], list[str]], is_valid: Callable[[StoredLedger], bool], *,
        journals: bool,
    ) -> None:  # fmt: skip
        self.journal = path.with_suffix(".journal") if journals else None
        self._path = path
        self._names = names
        self._file = LockedFile(path, StoredLedger, lambda value, _: is_valid(value))
        self._known: _Known | None = None
        self._reading = threading.RLock()
        self._named = ""
        """The id of the journal whose name is known to be on the disk."""

    def locked(self, *, patient: bool = True) -> AbstractContextManager[None]:
        return self._file.locked(patient=patient)

    def read(self, *, keep_aside: bool = True) -> StoredLedger:
        """The ledger. Raises `StoreError`. Without `keep_aside` a damaged one stays where it is."""
        with self._reading:
            for _ in range(ATTEMPTS):
                before = _mark(self._path) if self.journal else None
                try:
                    ledger = self._read(before, keep_aside=keep_aside)
                except _AnotherJournalError:
                    self._known = None
                    continue
                if self.journal is None or before == _mark(self._path):
                    break
            else:
                ledger = self._read(None, keep_aside=keep_aside)
        return ledger

    def _read(self, mark: _Mark | None, *, keep_aside: bool) -> StoredLedger:
        known = self._known
        if known is None or known.mark != mark:
            self._known = None
            base = self._file.read(keep_aside=keep_aside)
            if not base.id or self.journal is None:
                return base
            known = _Known(mark or _NO_MARK, base, self._names(base.entries))
        else:
            self._file.refuse_after_damage()
        assert self.journal is not None  # noqa: S101
        try:
            for change in self._changes(known):
                known.follow(change, self._names(change.put))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._known = None
            raise self._file.damaged(keep_aside=keep_aside, beside=[self.journal]) from error
        self._known = known
        return known.value()

    def _changes(self, known: _Known) -> Iterator[_Change]:
        """What is new in the journal. Raises `msgspec.DecodeError` for a damaged one, and `_AnotherJournalError`."""
        data, is_first = self._new(known), not known.end
        head = known.id.encode() + b"\n"
        if is_first and not data.startswith(head):
            return
        lines = data[len(head) if is_first else 0 :].split(b"\n")[:-1]
        known.end += len(head) if is_first else 0
        for number, line in enumerate(lines):
            chain = _sum(known.chain, line[_SUM_SIZE:])
            if line[:_SUM_SIZE] != chain:
                if not is_first:
                    raise _AnotherJournalError
                if any(_is_sound(row) for row in lines[number + 1 :]):
                    raise msgspec.DecodeError("a line of the journal is damaged")
                return
            yield msgspec.json.decode(line[_SUM_SIZE:], type=_Change)
            known.end += len(line) + 1
            known.chain = chain.decode()

    def _new(self, known: _Known) -> bytes:
        assert self.journal is not None  # noqa: S101
        try:
            with atomic.handle_of(self.journal) as handle, disk.reader(handle) as file:
                size = disk.status(handle).st_size
                if size < known.end:
                    raise _AnotherJournalError
                if size > MAX_BYTES:
                    raise msgspec.DecodeError("the journal is too large")
                file.seek(known.end)
                return file.read(size - known.end)
        except (FileNotFoundError, atomic.Unfit):
            if known.end:
                raise _AnotherJournalError from None
            return b""
        except OSError as error:
            raise unusable(self.journal, error) from error

    def write(self, value: StoredLedger, put: Mapping[str, msgspec.Raw], drop: Collection[str]) -> None:
        """Stores `value`, which differs from what was read by `put` and `drop`. Call it under `locked`, after `read`. Raises
        `StoreError`; then the ledger is as it was."""
        with self._reading:
            change = _Change(list(put.values()), list(drop), value.outbox, value.mac)
            known = self._known
            if known is None or not known.end or not self._append(known, change):
                self._replace(value)

    def confirm(self) -> None:
        """What can be read is on the disk when this returns: whoever wrote it may have been killed before it was. Raises
        `OSError`."""
        if self.journal is not None and atomic.is_file(self.journal):
            with atomic.handle_of(self.journal) as handle:
                disk.sync_content(handle)
        atomic.sync_folder(self._path)

    def _append(self, known: _Known, change: _Change) -> bool:
        """False if the file is to be replaced."""
        assert self.journal is not None  # noqa: S101
        body = msgspec.json.encode(change)
        chain = _sum(known.chain, body)
        line = chain + body + b"\n"
        if known.end + len(line) > max(LEAST, known.mark[2]):
            return False
        try:
            if self._named != known.id:  # whoever made it may have been killed
                atomic.sync_folder(self.journal)
                self._named = known.id
            handle = disk.open_file(self.journal, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise unusable(self.journal, error) from error
        try:
            _write(handle, known.end, line)
        except OSError as error:
            self._known = None
            raise unusable(self.journal, error) from error
        finally:
            disk.close(handle)
        known.follow(change, self._names(change.put))
        known.end += len(line)
        known.chain = chain.decode()
        _touch(self._path)
        return True

    def _replace(self, value: StoredLedger) -> None:
        if self._known is not None:
            self._known = None
            self._file.read()  # its members that this version does not know are kept
        if self.journal is None or sum(map(len, value.entries)) <= LEAST:
            self._file.write(msgspec.structs.replace(value, v=WHOLE, id=""))
            return
        name = os.urandom(_ID_BYTES).hex()
        self._file.write(msgspec.structs.replace(value, v=JOURNALLED, id=name))
        with suppress(OSError):  # without a journal of its own, the file is replaced again
            atomic.replace(self.journal, name.encode() + b"\n")
            self._named = name


def _mark(path: Path) -> _Mark | None:
    """The mark of a file that has a journal: differs when the file was replaced. None for any other."""
    try:
        with atomic.handle_of(path) as handle:
            status, head = disk.status(handle), disk.read_at(handle, _HEAD_BYTES, 0)
    except (OSError, ValueError):
        return None
    has_journal = head.startswith(b'{"v":%d,"id":"' % JOURNALLED)
    return (status.st_dev, status.st_ino, status.st_size, head) if has_journal else None


def _touch(path: Path) -> None:
    """Gives it another time than before, however soon after the last change."""
    with suppress(OSError):
        disk.set_time(path, max(time.time_ns(), disk.look(path).st_mtime_ns + 1))


def _sum(before: str, body: bytes) -> bytes:
    return sha256(before.encode() + body).hexdigest()[:_SUM_SIZE].encode()


def _is_sound(line: bytes) -> bool:
    """Whether it is a change, whatever came before it."""
    try:
        msgspec.json.decode(line[_SUM_SIZE:], type=_Change)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _write(handle: int, end: int, line: bytes) -> None:
    """Puts the line behind the last whole one, durably, or leaves nothing of it. Raises `OSError`."""
    if not stat.S_ISREG(disk.status(handle).st_mode):
        raise atomic.Unfit(22, "it is not a file")
    try:
        disk.cut(handle, end)
        done = 0
        while done < len(line):
            done += disk.write_at(handle, line[done:], end + done)
        disk.sync_content(handle)
    except OSError:
        disk.cut(handle, end)
        raise
