"""A disk in memory in the place of `stores/disk`, which loses what was not synced.

A file has what processes see and what is on the disk. A page that was written reaches the disk when the file is synced,
and may do so at any time before; when the power fails, any sector of such a page may be there, or not. A folder's changes
of names reach the disk in their order when it is synced, and may do so before, also before the content of the files. A
sync that fails leaves its pages as if they had been written: only a new write of the same page has another sync write
them. A write that is ended by a kill or a full disk ends between two pages, as systems write one page after the other.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import IO, Any

import pytest

from toolguard_engine.stores import disk

SECTOR, PAGE = 512, 4_096
CHANGES = frozenset(
    {"open_new", "write", "write_at", "cut", "rename", "link", "remove", "make_folder", "set_mode", "set_time"}
)
GROWS = frozenset({"open_new", "write", "write_at", "link", "make_folder"})
FUNCTIONS = tuple(name for name, value in vars(disk).items() if getattr(value, "__module__", "") == disk.__name__)
FIRST_HANDLE = 1_000_000
_TIMES = count(1_700_000_000_000_000_000, 1_000)
"""Each change of a file has its own, in nanoseconds."""


@dataclass
class Fault:
    """`full`: no space; `errors`: this share of what is asked fails; `read-only`: as after one; `no locks`; or none."""

    kind: str = ""
    share: float = 0.1

    def error(self, name: str, chance: Random) -> int:
        """The number of the error that this operation reports; 0 if it works."""
        if self.kind == "full" and name in GROWS:
            return errno.ENOSPC
        if self.kind == "errors" and chance.random() < self.share:
            return errno.EIO
        if self.kind == "read-only" and name in CHANGES:
            return errno.EROFS
        if self.kind == "no locks" and name == "lock":
            return errno.ENOLCK
        return 0


@dataclass
class _File:
    number: int
    mode: int
    seen: bytearray = field(default_factory=bytearray)
    kept: bytearray = field(default_factory=bytearray)
    dirty: set[int] = field(default_factory=set)
    changed: int = 0

    def write(self, data: bytes, offset: int) -> None:
        if offset > len(self.seen):
            self.seen.extend(bytes(offset - len(self.seen)))
        self.seen[offset : offset + len(data)] = data
        self.dirty.update(range(offset // PAGE, (offset + len(data) - 1) // PAGE + 1))
        self.changed = next(_TIMES)

    def cut(self, size: int) -> None:
        del self.seen[size:]
        self.seen.extend(bytes(size - len(self.seen)))
        self.dirty.add(size // PAGE)
        self.changed = next(_TIMES)

    def sync(self) -> None:
        del self.kept[len(self.seen) :]
        for page in self.dirty:
            self._keep(page * PAGE, PAGE)
        self.kept.extend(bytes(len(self.seen) - len(self.kept)))
        self.dirty.clear()

    def write_back(self, chance: Random) -> None:
        """The system writes some of what was not synced, a sector at a time."""
        if self.dirty and len(self.seen) < len(self.kept) and chance.random() < 0.5:
            del self.kept[len(self.seen) :]
        for page in self.dirty:
            for start in range(page * PAGE, min((page + 1) * PAGE, len(self.seen)), SECTOR):
                if chance.random() < 0.5:
                    self._keep(start, SECTOR)

    def _keep(self, start: int, size: int) -> None:
        data = self.seen[start : start + size]
        if data:
            self.kept.extend(bytes(max(0, start - len(self.kept))))
            self.kept[start : start + len(data)] = data

    def lose(self) -> None:
        self.seen, self.dirty = bytearray(self.kept), set()


@dataclass
class _Folder:
    seen: dict[str, _File] = field(default_factory=dict)
    kept: dict[str, _File] = field(default_factory=dict)
    changes: list[Callable[[dict[str, _File]], object]] = field(default_factory=list)

    def change(self, work: Callable[[dict[str, _File]], object]) -> None:
        work(self.seen)
        self.changes.append(work)

    def keep(self, count: int) -> None:
        for work in self.changes[:count]:
            work(self.kept)
        del self.changes[:count]


@dataclass
class _Open:
    what: _File | _Folder
    flags: int
    owner: object
    at: int = 0


@dataclass
class _Status:
    st_mode: int
    st_ino: int
    st_size: int
    st_mtime_ns: int
    st_nlink: int = 1
    st_dev: int = 1
    st_uid: int = field(default_factory=os.geteuid)
    st_gid: int = field(default_factory=os.getegid)

    @property
    def st_mtime(self) -> float:
        return self.st_mtime_ns / 1e9


class _Reader(io.RawIOBase):
    def __init__(self, of: MemoryDisk, handle: int) -> None:
        self._disk, self._handle, self._at = of, handle, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        assert whence == os.SEEK_SET
        self._at = offset
        return offset

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._disk.read_at(self._handle, len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class MemoryDisk:
    """`before`: called before each operation, with its name; what it raises comes instead. `owner`: the process that asks;
    a lock is released when it ends. `waits`: called while a lock is held by another, says whether to go on waiting."""

    def __init__(
        self,
        root: Path,
        chance: Random,
        *,
        before: Callable[[str], None] = lambda _: None,
        owner: Callable[[], object] = lambda: None,
        waits: Callable[[float], bool] = lambda _: False,
    ) -> None:
        self.fault = Fault()
        self._root, self._chance = root, chance
        self._before, self._owner, self._waits = before, owner, waits
        self._folders: dict[Path, _Folder] = {root: _Folder()}
        self._open: dict[int, _Open] = {}
        self._locks: dict[Path, object] = {}
        self._numbers = FIRST_HANDLE
        self._real = {name: getattr(disk, name) for name in FUNCTIONS}

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in FUNCTIONS:
            monkeypatch.setattr(disk, name, getattr(self, name))

    def end(self, owner: object) -> None:
        """This process has ended, however it did."""
        self._locks = {path: holder for path, holder in self._locks.items() if holder is not owner}
        self._open = {handle: opened for handle, opened in self._open.items() if opened.owner is not owner}

    def lose_power(self) -> None:
        """Nothing runs any more. What was not synced is there or not."""
        self._locks.clear()
        self._open.clear()
        self.fault = Fault()
        files = {
            file.number: file for folder in self._folders.values() for file in (*folder.seen.values(), *folder.kept.values())
        }
        for folder in self._folders.values():
            folder.keep(self._chance.randint(0, len(folder.changes)))
            folder.seen, folder.changes = dict(folder.kept), []
        for _, file in sorted(files.items()):
            file.write_back(self._chance)
            file.lose()

    def files(self) -> dict[str, bytes]:
        """What processes see of each file."""
        return {
            str((place / name).relative_to(self._root)): bytes(file.seen)
            for place, folder in self._folders.items()
            for name, file in folder.seen.items()
        }

    def open_file(self, path: Path, flags: int, mode: int = 0o600) -> int:
        if not self._is_here(path):
            handle: int = self._real["open_file"](path, flags, mode)
            return handle
        folder = self._folders.get(path)
        is_new = folder is None and bool(flags & os.O_CREAT) and path.name not in self._folder(path).seen
        self._ask("open_new" if is_new else "open", path)
        what: _File | _Folder
        if folder is not None:
            what = folder
        elif is_new:
            what = file = _File(self._number(), stat.S_IFREG | mode, changed=next(_TIMES))
            self._folder(path).change(lambda names: names.__setitem__(path.name, file))
        else:
            what = self._file(path)
            if flags & os.O_CREAT and flags & os.O_EXCL:
                raise _error(errno.EEXIST, path)
        handle = self._number()
        self._open[handle] = _Open(what, flags, self._owner())
        return handle

    def close(self, handle: int) -> None:
        if handle < FIRST_HANDLE:
            self._real["close"](handle)
        else:
            self._open.pop(handle, None)

    def reader(self, handle: int) -> IO[bytes]:
        if handle < FIRST_HANDLE:
            real: IO[bytes] = self._real["reader"](handle)
            return real
        return io.BufferedReader(_Reader(self, handle))

    def read_at(self, handle: int, size: int, offset: int) -> bytes:
        if handle < FIRST_HANDLE:
            data: bytes = self._real["read_at"](handle, size, offset)
            return data
        self._ask("read")
        return bytes(self._opened(handle).seen[offset : offset + size])

    def write(self, handle: int, data: bytes) -> int:
        opened = self._open[handle]
        file = self._opened(handle)
        offset = len(file.seen) if opened.flags & os.O_APPEND else opened.at
        done = self._write("write", file, data, offset)
        opened.at = offset + done
        return done

    def write_at(self, handle: int, data: bytes, offset: int) -> int:
        return self._write("write_at", self._opened(handle), data, offset)

    def _write(self, name: str, file: _File, data: bytes, offset: int) -> int:
        part = data[: max(0, self._chance.randint(offset, offset + len(data)) // PAGE * PAGE - offset)]
        try:
            self._ask(name)
        except OSError as error:
            if error.errno != errno.ENOSPC or not part:
                raise
            data = part  # what still fits; the next write fails
        except BaseException:
            if part and self._chance.random() < 0.5:
                file.write(part, offset)  # killed within
            raise
        if data:
            file.write(data, offset)
        if self._chance.random() < 0.1:
            file.write_back(self._chance)
        return len(data)

    def cut(self, handle: int, size: int) -> None:
        self._ask("cut")
        self._opened(handle).cut(size)

    def sync(self, handle: int) -> None:
        what = self._open[handle].what
        try:
            self._ask("sync")
        except OSError:
            if isinstance(what, _File):
                what.write_back(self._chance)
                what.dirty.clear()
            raise
        if isinstance(what, _Folder):
            what.keep(len(what.changes))
        else:
            what.sync()

    def sync_content(self, handle: int) -> None:
        self.sync(handle)

    def status(self, handle: int) -> os.stat_result:
        if handle < FIRST_HANDLE:
            real: os.stat_result = self._real["status"](handle)
            return real
        return self._status_of(self._opened(handle))

    def set_mode(self, handle: int, mode: int) -> None:
        if handle < FIRST_HANDLE:
            self._real["set_mode"](handle, mode)
            return
        self._ask("set_mode")
        self._opened(handle).mode = stat.S_IFREG | mode

    def look(self, path: Path) -> os.stat_result:
        if not self._is_here(path):
            real: os.stat_result = self._real["look"](path)
            return real
        self._ask("look", path)
        if path in self._folders:
            return _Status(stat.S_IFDIR | 0o700, 1, 0, 0)  # type: ignore[return-value]
        return self._status_of(self._file(path))

    def look_at_link(self, path: Path) -> os.stat_result:
        return self.look(path) if self._is_here(path) else self._real["look_at_link"](path)

    def names(self, folder: Path) -> list[str]:
        if not self._is_here(folder):
            listed: list[str] = self._real["names"](folder)
            return listed
        self._ask("names", folder)
        below = [path.name for path in self._folders if path.parent == folder]
        return [*self._folder(folder / "x").seen, *below]

    def rename(self, path: Path, new: Path) -> None:
        self._ask("rename", path)
        file = self._file(path)
        if path.parent == new.parent:
            self._folder(path).change(lambda names: names.__setitem__(new.name, names.pop(path.name, file)))
        else:
            self._folder(new).change(lambda names: names.__setitem__(new.name, file))
            self._folder(path).change(lambda names: names.pop(path.name, None))

    def link(self, path: Path, new: Path) -> None:
        self._ask("link", path)
        file = self._file(path)
        if new.name in self._folder(new).seen:
            raise _error(errno.EEXIST, new)
        self._folder(new).change(lambda names: names.__setitem__(new.name, file))

    def remove(self, path: Path) -> None:
        self._ask("remove", path)
        self._file(path)
        self._folder(path).change(lambda names: names.pop(path.name, None))

    def make_folder(self, path: Path) -> None:
        if not self._is_here(path):
            self._real["make_folder"](path)
            return
        self._ask("make_folder", path)
        for place in (*reversed(path.parents), path):  # a lost folder is no state of its own: it is made before all else
            if self._is_here(place):
                self._folders.setdefault(place, _Folder())

    def give(self, path: Path, user: int, group: int) -> None:
        if not self._is_here(path):
            self._real["give"](path, user, group)

    def set_time(self, path: Path, nanoseconds: int) -> None:
        self._ask("set_time", path)
        self._file(path).changed = nanoseconds

    def lock(self, path: Path, seconds: float) -> Callable[[], None]:
        owner = self._owner()
        self._ask("lock", path)
        self.close(self.open_file(path, os.O_RDWR | os.O_CREAT))
        while path in self._locks:
            if seconds <= 0 or not self._waits(seconds):
                raise TimeoutError(f"{path} is locked")
        self._locks[path] = owner
        return lambda: self._locks.pop(path, None) and None

    def _ask(self, name: str, path: Path | None = None) -> None:
        self._before(name)
        if number := self.fault.error(name, self._chance):
            raise _error(number, path or self._root)

    def _is_here(self, path: Path) -> bool:
        return path == self._root or self._root in path.parents

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _folder(self, path: Path) -> _Folder:
        """The folder above it."""
        if path.parent not in self._folders:
            raise _error(errno.ENOENT, path)
        return self._folders[path.parent]

    def _file(self, path: Path) -> _File:
        file = self._folder(path).seen.get(path.name)
        if file is None:
            raise _error(errno.ENOENT, path)
        return file

    def _opened(self, handle: int) -> _File:
        what = self._open[handle].what
        assert isinstance(what, _File)
        return what

    def _status_of(self, file: _File) -> os.stat_result:
        names = sum(known is file for folder in self._folders.values() for known in folder.seen.values())
        return _Status(file.mode, file.number, len(file.seen), file.changed, names)  # type: ignore[return-value]


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
