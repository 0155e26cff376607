"""What differs between operating systems: the only module of the engine that asks which one this is.

Tests set `NAME`, so that each system has its answers tested on the other.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from pathlib import Path

NAME = sys.platform

_FULL_SYNC = 51
"""F_FULLFSYNC of macOS, where `fsync` leaves the data in the cache of the disk."""

_NO_FULL_SYNC = frozenset({errno.ENOTSUP, errno.EINVAL, errno.ENOTTY})
"""What network disks and some folders answer to it."""


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
