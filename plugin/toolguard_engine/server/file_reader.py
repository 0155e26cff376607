"""Reads the files that calls run. Bounded in size and time: a file system that hangs delays no verdict longer than `WAIT`.

What lies on local disks (`local_disks`) is looked at at once. Each other look is done by a thread, because handing it over
costs ten times as much. A thread that does not answer in time is left behind; after `MAX_STUCK` of them every further look
is `too-slow` at once, until one comes back.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from itertools import groupby
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from msgspec import structs

from toolguard_engine.model.files import FileText, Unread
from toolguard_engine.model.work_timer import WorkTimer
from toolguard_engine.server.git_index import is_unchanged
from toolguard_engine.server.local_disks import LocalDisks

MAX_BYTES = 262_144
WAIT = 0.2
"""Seconds."""

MAX_STUCK = 4
MAX_KEPT = 400
MAX_KEPT_BYTES = 2_000_000
"""Files whose content is kept, and their size."""

FEW = 64
"""Paths that are looked at one by one, and without the thread if they are on disks that answer. To list a folder takes as
long as there are files in it."""

_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EAGAIN, errno.EIO})


def read_now(path: str) -> FileText | Unread:
    """What lies at a path. May hang with its file system."""
    try:
        return read_real(os.path.realpath(path))
    except (OSError, ValueError) as error:
        return _why(error)


def read_real(real: str, kept: _KeptTexts | None = None) -> FileText | Unread:
    """The same for a path without links."""
    try:
        if not stat.S_ISREG(os.lstat(real).st_mode):  # opening some devices does something
            return Unread("not-regular")
        handle = os.open(real, _OPEN)
    except (OSError, ValueError) as error:
        return _why(error)
    try:
        return _content(real, handle, kept)
    except OSError as error:
        return _why(error)
    finally:
        os.close(handle)


def _content(path: str, handle: int, kept: _KeptTexts | None) -> FileText | Unread:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        return Unread("not-regular")
    if status.st_size > MAX_BYTES:
        return Unread("too-large")
    data = b""
    while len(data) <= MAX_BYTES and (more := os.read(handle, MAX_BYTES + 1 - len(data))):
        data += more
    if len(data) > MAX_BYTES:
        return Unread("too-large")
    if b"\0" in data:
        return Unread("binary")
    return (kept.decode if kept is not None else _text_of)(path, data, identity_of(status))


def identity_of(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class _KeptTexts:
    """What the last files that were read contained: programs of a project read the same few files each time.

    A file is read again and compared. Inode, size and times do not tell whether it has changed: they stay the same when a
    process writes to memory that it shares with the file (`mmap`).
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[bytes, FileText]] = OrderedDict()
        self._size = 0

    def decode(self, path: str, data: bytes, identity: tuple[int, int, int, int]) -> FileText:
        data_before, file = self._known.get(path, (b"", None))
        if file is None or data != data_before:
            self._drop(path)
            file = _text_of(path, data, identity)
            self._size += len(data)
        elif file.identity != identity:
            file = structs.replace(file, identity=identity)
        self._known[path] = data, file
        while len(self._known) > MAX_KEPT or self._size > MAX_KEPT_BYTES:
            self._drop(next(iter(self._known)))
        return file

    def _drop(self, path: str) -> None:
        if (known := self._known.pop(path, None)) is not None:
            self._size -= len(known[0])


def _text_of(path: str, data: bytes, identity: tuple[int, int, int, int]) -> FileText:
    return FileText(path, data.decode("utf-8", "replace"), sha256(data).hexdigest(), identity)


def _folders(paths: list[str]) -> list[str]:
    return [path for path in paths if os.path.isdir(path)]  # noqa: PTH112


def _why(error: Exception) -> Unread:
    return Unread("forbidden" if isinstance(error, OSError) and error.errno in _FORBIDDEN else "absent")


def _missing(paths: list[str]) -> list[str]:
    """Looks at each, or lists the folder if there are many of it."""
    missing = list[str]()
    for folder, group in groupby(sorted(paths), os.path.dirname):
        known = list(group)
        names = _names(folder) if len(known) > FEW else None
        if names is None:
            missing += [path for path in known if not os.path.lexists(path)]
        else:
            missing += [path for path in known if os.path.basename(path) not in names]  # noqa: PTH119 - a hundred times
    return missing


def _names(folder: str) -> set[str] | None:
    """What lies in a folder; None if it cannot be listed."""
    try:
        return set(os.listdir(folder))  # noqa: PTH208 - the names only
    except FileNotFoundError:
        return set()
    except (OSError, ValueError):
        return None


class FileReader:
    """The files of this machine, see `model.files.FileSource`. `read`, `resolve`: how one is looked at that may hang;
    `disks`: which may not."""

    def __init__(
        self,
        read: Callable[[str], FileText | Unread] = read_now,
        resolve: Callable[[str], str] = os.path.realpath,
        wait: float = WAIT,
        timer: WorkTimer | None = None,
        disks: LocalDisks | None = None,
    ) -> None:
        self._disks = disks or LocalDisks()
        self._kept = _KeptTexts()
        self._read = read
        self._resolve = resolve
        self._wait = wait
        self._timer = timer or WorkTimer()
        self._worker: _Worker | None = None
        self._stuck: list[_Worker] = []

    def __del__(self) -> None:
        if self._worker is not None:
            self._worker.leave()

    def read(self, path: str) -> FileText | Unread:
        if (real := self._disks.real(path)) is None:
            text = self.bounded(self._read, path)
            return text if text is not None else Unread("too-slow")
        reading, self._timer.reading = self._timer.reading, None
        try:
            return read_real(real, self._kept)
        finally:
            self._timer.reading = reading

    def resolve(self, path: str) -> str:
        if (real := self._disks.real(path)) is not None:
            return real
        resolved = self.bounded(self._resolve_safely, path)
        return path if resolved is None else resolved

    def is_unchanged(self, path: str) -> bool:
        return bool(self.bounded(is_unchanged, path))

    def missing(self, paths: list[str]) -> list[str]:
        """Those of the paths at which there is surely nothing."""
        missing = self._disks.missing(paths) if len(paths) <= FEW else None
        return self.bounded(_missing, paths) or [] if missing is None else missing

    def folders(self, paths: list[str]) -> list[str]:
        """Those of the paths at which there is surely a folder."""
        is_local = len(paths) <= FEW and self._disks.are_local(paths)
        return _folders(paths) if is_local else self.bounded(_folders, paths) or []

    def _resolve_safely(self, path: str) -> str:
        try:
            return self._resolve(path)
        except (OSError, ValueError):
            return path

    def bounded(self, look: Callable[[Any], Any], at: Any) -> Any:
        """What a look finds; None where it takes too long. Not interrupted: the next look would get the answer to this."""
        timer = self._timer
        reading, timer.reading = timer.reading, None
        try:
            return self._bounded(look, at)
        finally:
            timer.reading = reading

    def _bounded(self, look: Callable[[Any], Any], at: Any) -> Any:
        self._stuck = [worker for worker in self._stuck if worker.is_stuck()]
        if len(self._stuck) >= MAX_STUCK:
            return None
        worker = self._worker = self._worker or _Worker()
        try:
            error = worker.ask(look, at, self._wait)
        except Empty:
            self._worker = None
            self._stuck.append(worker)
            worker.leave()
            return None
        if isinstance(error, Exception):
            raise error
        return error


class _Worker:
    """One thread, asked one thing at a time."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[Callable[[Any], Any], Any] | None] = SimpleQueue()
        self._found: SimpleQueue[Any] = SimpleQueue()
        self._thread = Thread(target=self._work, name="files", daemon=True)
        self._thread.start()

    def ask(self, look: Callable[[Any], Any], at: Any, wait: float) -> Any:
        self._asked.put((look, at))
        return self._found.get(timeout=wait)

    def leave(self) -> None:
        """It ends when it comes back."""
        self._asked.put(None)

    def is_stuck(self) -> bool:
        return self._thread.is_alive()

    def _work(self) -> None:
        while (asked := self._asked.get()) is not None:
            look, at = asked
            try:
                result = look(at)
            except Exception as error:  # noqa: BLE001 - raised where it was asked
                result = error
            self._found.put(result)
            del asked, look, at, result
