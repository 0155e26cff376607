"""Reads the files that calls run. Bounded in size and time: a file system that hangs delays no verdict longer than `WAIT`.

What lies on local disks (`local_disks`) is looked at at once. Each other look is done by a thread, because handing it over
costs ten times as much. A thread that does not answer in time is left behind; after `MAX_STUCK` of them every further look
is `too-slow` at once, until one comes back.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from itertools import groupby
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from toolguard_engine.model.files import FileText, Unread
from toolguard_engine.model.work_timer import WorkTimer
from toolguard_engine.server.git_index import is_unchanged
from toolguard_engine.server.local_disks import LocalDisks

MAX_BYTES = 262_144
WAIT = 0.2
"""Seconds."""

MAX_STUCK = 4
MAX_KEPT = 64
MAX_KEPT_TEXT = 2_000_000
"""Files whose content is kept, and their characters."""

SETTLED = 2_500_000_000
"""Nanoseconds since its last change, after which any further change gives a file another time (vfat counts in 2 s)."""

MAX_ASKED_HERE = 64
"""Paths that are looked at without the thread, if they are on disks that answer."""

FEW = 16
"""Paths in one folder that are looked at one by one."""

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
        status = os.lstat(real)
        if not stat.S_ISREG(status.st_mode):  # opening some devices does something
            return Unread("not-regular")
        if kept is not None and (known := kept.get(real, status)) is not None:
            return known
        handle = os.open(real, _OPEN)
    except (OSError, ValueError) as error:
        return _why(error)
    try:
        found = _content(real, handle)
        status = os.fstat(handle)
    except OSError as error:
        return _why(error)
    finally:
        os.close(handle)
    if kept is not None and isinstance(found, FileText):
        kept.put(found, status)
    return found


def _content(path: str, handle: int) -> FileText | Unread:
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
    return FileText(path, data.decode("utf-8", "replace"), sha256(data).hexdigest(), identity_of(status))


def identity_of(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class _KeptTexts:
    """The last files that were read, as long as they are the same by inode, size and both times: programs of a project read
    the same few files each time. The time of the last change of the inode cannot be set by who changes a file."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[tuple[int, ...], FileText]] = OrderedDict()
        self._size = 0

    def get(self, path: str, status: os.stat_result) -> FileText | None:
        known = self._known.get(path)
        return known[1] if known is not None and known[0] == _whole_identity(status) else None

    def put(self, found: FileText, status: os.stat_result) -> None:
        self._drop(found.path)
        changed = max(status.st_ctime_ns, status.st_mtime_ns)
        if found.identity != identity_of(status) or time.time_ns() - changed < SETTLED:
            return
        self._known[found.path] = _whole_identity(status), found
        self._size += len(found.text)
        while len(self._known) > MAX_KEPT or self._size > MAX_KEPT_TEXT:
            self._drop(next(iter(self._known)))

    def _drop(self, path: str) -> None:
        if (known := self._known.pop(path, None)) is not None:
            self._size -= len(known[1].text)


def _whole_identity(status: os.stat_result) -> tuple[int, ...]:
    return *identity_of(status), status.st_ctime_ns


def _folders(paths: list[str]) -> list[str]:
    return [path for path in paths if os.path.isdir(path)]  # noqa: PTH112


def _why(error: Exception) -> Unread:
    return Unread("forbidden" if isinstance(error, OSError) and error.errno in _FORBIDDEN else "absent")


def _missing(paths: list[str]) -> list[str]:
    """Looks at each, or lists the folder if there are many of it."""
    found = list[str]()
    for folder, group in groupby(sorted(paths), os.path.dirname):
        known = list(group)
        names = _names(folder) if len(known) > FEW else None
        if names is None:
            found += [path for path in known if not os.path.lexists(path)]
        else:
            found += [path for path in known if os.path.basename(path) not in names]  # noqa: PTH119 - a hundred times
    return found


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
            found = self.bounded(self._read, path)
            return found if found is not None else Unread("too-slow")
        reading, self._timer.reading = self._timer.reading, None
        try:
            return read_real(real, self._kept)
        finally:
            self._timer.reading = reading

    def resolve(self, path: str) -> str:
        if (real := self._disks.real(path)) is not None:
            return real
        found = self.bounded(self._resolve_safely, path)
        return path if found is None else found

    def is_unchanged(self, path: str) -> bool:
        return bool(self.bounded(is_unchanged, path))

    def missing(self, paths: list[str]) -> list[str]:
        """Those of the paths at which there is surely nothing."""
        return self._looked(_missing, paths)

    def folders(self, paths: list[str]) -> list[str]:
        """Those of the paths at which there is surely a folder."""
        return self._looked(_folders, paths)

    def _looked(self, look: Callable[[list[str]], list[str]], paths: list[str]) -> list[str]:
        is_local = len(paths) <= MAX_ASKED_HERE and all(self._disks.real(path) is not None for path in paths)
        found = look(paths) if is_local else self.bounded(look, paths)
        return found or []

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
            found = worker.ask(look, at, self._wait)
        except Empty:
            self._worker = None
            self._stuck.append(worker)
            worker.leave()
            return None
        if isinstance(found, Exception):
            raise found
        return found


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
                found = look(at)
            except Exception as error:  # noqa: BLE001 - raised where it was asked
                found = error
            self._found.put(found)
            del asked, look, at, found
