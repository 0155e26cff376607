"""Small files that other processes read: written to a temporary file and moved into place, so that no reader sees half."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from toolguard_engine.stores import disk

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
    with handle_of(path) as handle, disk.reader(handle) as file:
        size = min(limit, disk.status(handle).st_size)
        data = file.read(size + 1)  # room is made for as much as is asked for
        if size < len(data) <= limit:  # it has grown
            data += file.read(limit + 1 - len(data))
    if len(data) > limit:
        raise Unfit(errno.EFBIG, f"it is larger than {limit} bytes", str(path))
    return data


@contextmanager
def handle_of(path: Path) -> Iterator[int]:
    """The file, open for reading. Raises as `read_bounded` does."""
    handle = disk.open_file(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(disk.status(handle).st_mode):
            raise Unfit(errno.EINVAL, "it is not a file", str(path))
        yield handle
    finally:
        disk.close(handle)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """What the file has, from its start. Raises as `read_bounded` does."""
    with handle_of(path) as handle, disk.reader(handle) as file:
        yield file


def write_all(handle: int, data: bytes) -> None:
    """Writes all of it or raises `OSError`: a full disk accepts a part first."""
    while data:
        data = data[disk.write(handle, data) :]


def is_there(path: Path) -> bool:
    """Whether something has this name, also a link that leads nowhere. Raises `OSError` if that cannot be found out."""
    try:
        disk.look_at_link(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: NUL in the path
        return False
    return True


def may_be_there(path: Path) -> bool:
    """The same, except that what cannot be found out counts as there."""
    try:
        return is_there(path)
    except OSError:
        return True


def is_file(path: Path) -> bool:
    """Raises `OSError` if that cannot be found out."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Raises `OSError` if that cannot be found out."""
    return stat.S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    """The mode of what a link leads to; 0 if that does not exist."""
    try:
        return disk.look(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return 0
    except OSError as error:
        if error.errno == errno.ELOOP:
            return 0
        raise


def listed(folder: Path, begin: str = "", end: str = "") -> list[Path]:
    """What is in the folder and has a name that begins and ends so, sorted; nothing where one may not look. Raises
    `OSError`."""
    try:
        names = disk.names(folder)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    return [folder / name for name in sorted(names) if name.startswith(begin) and name.endswith(end)]


def remove(path: Path, *, durable: bool = False) -> None:
    """Nothing has this name when this returns; `durable`: nor after a power failure. Raises `OSError`."""
    with suppress(FileNotFoundError):
        disk.remove(path)
    if durable:  # also what was gone already: whoever removed it may have been killed before it was on the disk
        with suppress(FileNotFoundError):  # nothing comes back in a folder that is not there
            _confirm(path)


def replace(
    path: Path, data: bytes, mode: int = 0o600, *, durable: bool = True, last: Callable[[], None] = lambda: None
) -> None:
    """Replaces `path` with `data` atomically. Raises `OSError`; then the old file is untouched, unless the error says so.

    `durable`: the data is on disk when this returns; without it a power failure may lose the change.
    `last`: called right before the file is replaced; an exception keeps the old file.
    """
    beside = _temporary(path)
    try:
        _fill(beside, data, mode, durable=durable)
        belong_to_folder(beside)
        last()
        disk.rename(beside, path)
    except BaseException:
        remove(beside)
        raise
    if durable:
        _confirm(path)


def overwrite(path: Path, data: bytes) -> bool:
    """Writes `data` durably over a file of the same length, in place; False if there is no such file, or it has other names.
    For data that lies within one sector: it is there as a whole or not at all. Raises `OSError`."""
    try:
        handle = disk.open_file(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        status = disk.status(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size != len(data):
            return False
        if disk.write_at(handle, data, 0) != len(data):
            raise OSError(errno.EIO, "only a part of it was written", str(path))
        disk.sync_content(handle)
    finally:
        disk.close(handle)
    return True


def create(path: Path, data: bytes, mode: int = 0o600) -> bool:
    """Creates `path` with `data`, atomically and durably; False if something is there already. Raises `OSError`."""
    make_folder(path.parent)
    beside = _temporary(path)
    try:
        _fill(beside, data, mode, durable=True)
        belong_to_folder(beside)
        disk.link(beside, path)
    except FileExistsError:
        return False
    except FileNotFoundError:  # a writer of `path` removes temporary files beside it
        if not is_there(path):
            raise
        return False
    finally:
        remove(beside)
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
        handle = disk.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    try:
        try:
            with suppress(OSError):
                belong_to_folder(path)
            with suppress(OSError):
                disk.set_mode(handle, 0o600)
            write_all(handle, data)
            disk.sync(handle)
        finally:
            disk.close(handle)
    except BaseException:
        remove(path)
        raise
    _confirm(path)
    return True


def clear_abandoned(*folders: Path) -> None:
    """Removes the temporary files in these folders of processes that were killed. Those of live ones are younger."""
    for left in (left for folder in folders for left in listed(folder, ".") if TEMPORARY in left.name):
        with suppress(OSError):
            if disk.look_at_link(left).st_mtime < time.time() - ABANDONED_SECONDS:
                disk.remove(left)


def make_folder(folder: Path) -> None:
    """Makes a folder that only its owner can read, with its parents."""
    if not is_folder(folder):
        disk.make_folder(folder)
        belong_to_folder(folder)


def belong_to_folder(path: Path) -> None:
    """Gives a file that root made to the owner of its folder, so that the gateway can still use it."""
    if os.geteuid() != 0:
        return
    owner = disk.look(path.parent)
    if (owner.st_uid, owner.st_gid) != (0, 0):
        disk.give(path, owner.st_uid, owner.st_gid)


def sync_folder(path: Path) -> None:
    """That the file is in its folder, under this name, survives a power failure when this returns. Raises `OSError`."""
    handle = disk.open_file(path.parent, os.O_RDONLY)
    try:
        disk.sync(handle)
    finally:
        disk.close(handle)


def _temporary(path: Path) -> Path:
    """A name beside it that nobody has."""
    return path.with_name(f".{path.name}.{os.urandom(8).hex()}{TEMPORARY}")


def _fill(path: Path, data: bytes, mode: int, *, durable: bool) -> None:
    """Makes the file. An exception may leave a part of it."""
    handle = disk.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)
    try:
        write_all(handle, data)
        if durable:
            disk.sync(handle)
        disk.set_mode(handle, mode)
    finally:
        disk.close(handle)


def _confirm(path: Path) -> None:
    """Makes it last that the file was put in its place."""
    try:
        sync_folder(path)
    except OSError as error:
        raise unconfirmed(path, error) from error


def unconfirmed(path: Path, error: OSError) -> OSError:
    """What a failed sync means: the next reader finds what was written, but a power failure may undo it."""
    return OSError(error.errno, f"it was written, but the disk has not confirmed it: {error.strerror}", str(path))
