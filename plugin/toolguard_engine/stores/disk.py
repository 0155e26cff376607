"""All that the stores ask of a disk. Tests put a disk in memory in the place of these functions, one that loses power.

Only `atomic`, `locked` and the stores in files call them. SQLite reaches its files by itself, `undo` the files of the
person through open folders, and what other programs wrote is read without them. Each raises `OSError`, for a path with NUL
in it `ValueError`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from toolguard_engine.stores import file_lock, system_calls


def open_file(path: Path, flags: int, mode: int = 0o600) -> int:
    """A handle that programs which we start do not inherit. `path` may be a folder, to be synced."""
    return os.open(path, flags | os.O_CLOEXEC, mode)


def close(handle: int) -> None:
    os.close(handle)


def reader(handle: int) -> IO[bytes]:
    """What the handle has, from its start; the handle stays open."""
    return os.fdopen(handle, "rb", closefd=False)


def read_at(handle: int, size: int, offset: int) -> bytes:
    return os.pread(handle, size, offset)


def write(handle: int, data: bytes) -> int:
    """How much of it was written: a full disk takes a part first."""
    return os.write(handle, data)


def write_at(handle: int, data: bytes, offset: int) -> int:
    return os.pwrite(handle, data, offset)


def cut(handle: int, size: int) -> None:
    os.ftruncate(handle, size)


def sync(handle: int) -> None:
    """What the file has, or which names the folder has, survives a power failure when this returns."""
    system_calls.sync(handle)


def sync_content(handle: int) -> None:
    """The same without the file's times."""
    system_calls.sync_content(handle)


def status(handle: int) -> os.stat_result:
    return os.fstat(handle)


def set_mode(handle: int, mode: int) -> None:
    os.fchmod(handle, mode)


def look(path: Path) -> os.stat_result:
    """The status of what a link leads to."""
    return os.stat(path)


def look_at_link(path: Path) -> os.stat_result:
    return os.lstat(path)


def names(folder: Path) -> list[str]:
    return os.listdir(folder)


def rename(path: Path, new: Path) -> None:
    """What was there before is gone."""
    os.replace(path, new)


def link(path: Path, new: Path) -> None:
    """Another name. Raises `FileExistsError`."""
    os.link(path, new)


def remove(path: Path) -> None:
    os.unlink(path)


def make_folder(path: Path) -> None:
    """Makes it with those above it; only its owner can read it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def give(path: Path, user: int, group: int) -> None:
    os.chown(path, user, group, follow_symlinks=False)


def set_time(path: Path, nanoseconds: int) -> None:
    """When it was changed last."""
    os.utime(path, ns=(nanoseconds, nanoseconds))


def lock(path: Path, seconds: float) -> Callable[[], None]:
    """Locks this file, which is made if it is missing; returns what releases it. Raises `TimeoutError` if another holds it
    for so long."""
    return file_lock.acquired(path, seconds)
