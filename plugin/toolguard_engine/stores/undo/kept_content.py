"""The content of one file, kept under another name: a hard link, a clone, or a copy."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from toolguard_engine.stores import system_calls

BLOCK = 1 << 20
LEAST_SIZE = 4_096
"""What a file takes on most disks, however short it is."""

_NO_LINK = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES})
"""Another disk; a file of somebody else; a file system without links."""


def linked(folder: int, base: str, kept: Path) -> bool:
    """Gives an entry of an open folder a second name; False where that is not possible. Raises `OSError`."""
    try:
        os.link(base, kept, src_dir_fd=folder, follow_symlinks=False)
    except NotImplementedError:  # not every system can do it by an open folder
        return False
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        return False
    return True


def copied(folder: int, base: str, kept: Path, most: int, between: Callable[[], None]) -> int:
    """Clones or copies an entry of an open folder, with its time. Returns the number of bytes that were copied, -1 if they
    are more than `most`: then there is no copy. `between` is called before each block. Raises `OSError`."""
    source = os.open(base, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        with os.fdopen(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            count = 0 if system_calls.share_blocks(source, file.fileno()) else _all_of(source, file, most, between)
            file.flush()
            modified = os.fstat(source).st_mtime_ns
            os.utime(file.fileno(), ns=(modified, modified))
        if count < 0:
            kept.unlink()
    except BaseException:
        kept.unlink(missing_ok=True)
        raise
    finally:
        os.close(source)
    return count


def _all_of(source: int, file: IO[bytes], most: int, between: Callable[[], None]) -> int:
    count = 0
    while block := os.read(source, BLOCK):
        count += len(block)
        if count > most:
            return -1
        between()
        file.write(block)
    return count
