"""What lies at a path now, with no symbolic link on the way to it."""

from __future__ import annotations

import errno
import os
import stat

from toolguard_engine.containment.rehearsed_changes import Before, What
from toolguard_engine.stores import unlinked_paths

_NO_FOLDER = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_NOTHING = Before()


def before(path: str) -> Before:
    """What lies at a path now: nothing if there is no folder above it. Raises `OSError` where that cannot be seen."""
    try:
        with unlinked_paths.parent(path) as (folder, name):
            return before_in(folder, name)
    except OSError as error:
        if error.errno not in _NO_FOLDER:
            raise
        return _NOTHING


def before_in(folder: int | None, name: str) -> Before:
    """The same for an entry of an open folder, or for a path."""
    try:
        seen = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return _NOTHING
    mode = stat.S_IMODE(seen.st_mode)
    if stat.S_ISDIR(seen.st_mode):
        return Before("folder", mode=mode)
    what: What = "link" if stat.S_ISLNK(seen.st_mode) else "file"
    return Before(what, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, mode)
