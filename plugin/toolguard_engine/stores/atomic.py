"""Small files that other processes read: written to a temporary file and moved into place, so that no reader sees half."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from toolguard_engine.stores import system_calls

OUR_FOLDER = "toolguard"
TEMPORARY = ".toolguard"
"""The end of the name of a temporary file."""

ABANDONED_SECONDS = 300.0

UNKNOWN_THERE = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""What a file system says to a request for something that it does not know."""


def own_folder(state_dir: Path) -> Path:
    """Toolguard's own folder inside the gateway's state directory."""
    return state_dir / OUR_FOLDER


class Unfit(OSError):  # noqa: N818 - named for the condition
    """The path is not a regular file, or it is larger than toolguard ever writes it."""


def read_bounded(path: Path, limit: int) -> bytes:
    """The content of a file of at most `limit` bytes. Does not block on a pipe. Raises `OSError` (`Unfit` if it is not such
    a file), and `ValueError` if the name cannot be a path."""
    with opened(path) as file:
        size = min(limit, os.fstat(file.fileno()).st_size)
        data = file.read(size + 1)  # room is made for as much as is asked for
        if size < len(data) <= limit:  # it has grown
            data += file.read(limit + 1 - len(data))
    if len(data) > limit:
        raise Unfit(errno.EFBIG, f"it is larger than {limit} bytes", str(path))
    return data


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file, open for reading. Raises as `read_bounded` does."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Unfit(errno.EINVAL, "it is not a file", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(handle)


def replace(
    path: Path, data: bytes, mode: int = 0o600, *, durable: bool = True, last: Callable[[], None] = lambda: None
) -> None:
    """Replaces `path` with `data` atomically. Raises `OSError`; then the old file is untouched, unless the error says so.

    `durable`: the data is on disk when this returns; without it a power failure may lose the change.
    `last`: called right before the file is replaced; an exception keeps the old file.
    """
    handle, beside = tempfile.mkstemp(TEMPORARY, f".{path.name}.", path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                system_calls.sync(file.fileno())
            os.fchmod(file.fileno(), mode)
        belong_to_folder(Path(beside))
        last()
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    if durable:
        _confirm(path)


def overwrite(path: Path, data: bytes) -> bool:
    """Writes `data` durably over a file of the same length, in place; False if there is no such file, or it has other names.
    For data that lies within one sector: it is there as a whole or not at all. Raises `OSError`."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size != len(data):
            return False
        if os.pwrite(handle, data, 0) != len(data):
            raise OSError(errno.EIO, "only a part of it was written", str(path))
        system_calls.sync_content(handle)
    finally:
        os.close(handle)
    return True


def create(path: Path, data: bytes, mode: int = 0o600) -> bool:
    """Creates `path` with `data`, atomically and durably; False if something is there already. Raises `OSError`."""
    make_folder(path.parent)
    handle, beside = tempfile.mkstemp(TEMPORARY, f".{path.name}.", path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            system_calls.sync(file.fileno())
            os.fchmod(file.fileno(), mode)
        belong_to_folder(Path(beside))
        os.link(beside, path)
    except FileExistsError:
        return False
    except FileNotFoundError:  # a writer of `path` removes temporary files beside it
        if not os.path.lexists(path):
            raise
        return False
    finally:
        Path(beside).unlink(missing_ok=True)
    _confirm(path)
    return True


def create_anywhere(path: Path, data: bytes) -> bool:
    """Does what `create` does, also on a file system that knows neither links nor modes, such as that of a memory stick.
    Others may see half of the file there, and may be able to read it. Nothing is left behind after an error."""
    try:
        return create(path, data)
    except OSError as error:
        if error.errno not in UNKNOWN_THERE:
            raise
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            with suppress(OSError):
                belong_to_folder(path)
            with suppress(OSError):
                os.fchmod(file.fileno(), 0o600)
            file.write(data)
            file.flush()
            system_calls.sync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    _confirm(path)
    return True


def clear_abandoned(*folders: Path) -> None:
    """Removes the temporary files in these folders of processes that were killed. Those of live ones are younger."""
    for left in (left for folder in folders for left in folder.glob(f".*{TEMPORARY}*")):
        with suppress(OSError):
            if left.lstat().st_mtime < time.time() - ABANDONED_SECONDS:
                left.unlink()


def make_folder(folder: Path) -> None:
    """Makes a folder that only its owner can read, with its parents."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        belong_to_folder(folder)


def belong_to_folder(path: Path) -> None:
    """Gives a file that root made to the owner of its folder, so that the gateway can still use it."""
    if os.geteuid() != 0:
        return
    owner = path.parent.stat()
    if (owner.st_uid, owner.st_gid) != (0, 0):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def sync_folder(path: Path) -> None:
    """That the file is in its folder, under this name, survives a power failure when this returns. Raises `OSError`."""
    handle = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        system_calls.sync(handle)
    finally:
        os.close(handle)


def _confirm(path: Path) -> None:
    """Makes it last that the file was put in its place."""
    try:
        sync_folder(path)
    except OSError as error:
        raise unconfirmed(path, error) from error


def unconfirmed(path: Path, error: OSError) -> OSError:
    """What a failed sync means: the next reader finds what was written, but a power failure may undo it."""
    return OSError(error.errno, f"it was written, but the disk has not confirmed it: {error.strerror}", str(path))
