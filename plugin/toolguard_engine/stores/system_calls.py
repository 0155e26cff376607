"""What differs between operating systems: the only module of the engine that asks which one this is.

Tests set `NAME`, so that each system has its answers tested on the other.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

NAME = sys.platform

_FULL_SYNC = 51
"""F_FULLFSYNC of macOS, where `fsync` leaves the data in the disk's cache."""

_NO_FULL_SYNC = frozenset({errno.ENOTSUP, errno.EINVAL, errno.ENOTTY})
"""What network disks and some folders answer to it."""


def private_file(content: bytes) -> int:
    """An open file that has no name, for a program that we start: others of our user cannot replace it, nor on Linux write
    to it. The caller closes it. Raises `OSError`."""
    if sys.platform == "linux" and NAME == "linux":  # the first for mypy: other systems do not have these names
        handle = os.memfd_create("toolguard", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        file: IO[bytes] = os.fdopen(handle, "wb", closefd=False)
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - its handle outlives it
        handle = os.dup(file.fileno())
    try:
        with file:
            file.write(content)
        if sys.platform == "linux" and NAME == "linux":
            fcntl.fcntl(
                handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
            )
    except OSError:
        os.close(handle)
        raise
    return handle


def attributes(path: str) -> list[str]:
    """The names of a file's extended attributes; on systems other than Linux, which nothing here needs them on, none. Raises
    `OSError`."""
    listed: list[str] = []
    if sys.platform == "linux" and NAME == "linux":
        listed = os.listxattr(path)
    return listed


_FICLONE = 0x40049409
"""The request of `ioctl_ficlone(2)`: Linux, on btrfs, XFS and bcachefs."""


def share_blocks(source: int, target: int) -> bool:
    """Gives an empty open file the content of another one, without copying it; False where the file system cannot."""
    if NAME != "linux":
        return False
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True


def limit_memory(most: int) -> None:
    """Lets an allocation fail rather than have the system end this process, or another. `most`: bytes of data, not of
    addresses: threads reserve many of those."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > most:
        with suppress(ValueError, OSError):  # not every system has this limit
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def sync(handle: int) -> None:
    """What was written is on the disk when this returns, and survives a power failure. Raises `OSError`."""
    if NAME == "darwin":
        try:
            fcntl.fcntl(handle, _FULL_SYNC)
        except OSError as error:
            if error.errno not in _NO_FULL_SYNC:
                raise
        else:
            return
    os.fsync(handle)


def sync_content(handle: int) -> None:
    """The same without the file's times. Raises `OSError`."""
    if NAME == "darwin":
        sync(handle)
    else:
        getattr(os, "fdatasync", os.fsync)(handle)


def command_line(pid: int) -> str | None:
    """The command line of a process, its parts separated by blanks or NUL; empty if there is no such process, None if it
    cannot be examined."""
    if not NAME.startswith("linux"):
        return _asked(pid)
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return "" if Path("/proc/self").exists() else None
    except OSError:
        return None


def _asked(pid: int) -> str | None:
    import psutil  # Linux does not need it, and an engine starts without it

    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.AccessDenied:
        return None
    except (psutil.Error, ValueError):
        return ""


def namespaces() -> list[str]:
    """The user and PID namespaces of this process; only Linux has them."""
    try:
        return [os.readlink(f"/proc/self/ns/{kind}") for kind in ("user", "pid")]  # noqa: PTH115 - the text is not a path
    except OSError:
        return []


def load() -> None:
    """Imports what the functions above import where they are called."""
    if not NAME.startswith("linux"):
        import psutil  # noqa: F401
