"""Paths without symbolic links: what lies at one, and the folder above it, opened so that no link put in its place leads
elsewhere. Commands that run meanwhile could put one there."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from toolguard_engine.containment.rehearsed_changes import Before, What

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FOLDER = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_NOTHING = Before()


@contextmanager
def parent(path: str) -> Iterator[tuple[int, str]]:
    """The folder above an absolute path, and the name in it. Raises `OSError`, also where a link is on the way."""
    *folders, name = path.strip("/").split("/")
    handle = os.open("/", _FOLDER)
    try:
        for each in folders:
            inner = os.open(each, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle, name
    finally:
        os.close(handle)


def before(path: str) -> Before:
    """What lies at a path now: nothing if there is no folder above it. Raises `OSError` where that cannot be seen."""
    try:
        with parent(path) as (folder, name):
            return before_in(folder, name)
    except OSError as error:
        if error.errno not in _NO_FOLDER:
            raise
        return _NOTHING


def before_in(folder: int | None, name: str) -> Before:
    """The same for an entry of an open folder, or for a path."""
    try:
        found = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return _NOTHING
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISDIR(found.st_mode):
        return Before("folder", mode=mode)
    what: What = "link" if stat.S_ISLNK(found.st_mode) else "file"
    return Before(what, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, mode)
