"""Linux: whether this process sees the system's real processes.

Any program can create a namespace in which it is root, mount a file system of its own over /proc, choose its process number
and start a command there. That command cannot rely on /proc.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterable
from contextlib import suppress

from toolguard_cli.system import operating_system

FIRST = ("user:[4026531837]", "pid:[4026531836]")
"""The initial user and process namespaces; the kernel fixes these numbers."""
_PROC_MAGIC = 0x9FA0
_OPENAT2 = 437
_NO_CROSSING = 0x01 | 0x02
"""RESOLVE_NO_XDEV and RESOLVE_NO_MAGICLINKS: do not follow mounts over parts of /proc."""
_BUFFER_BYTES = 512
_O_PATH = getattr(os, "O_PATH", 0)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def doubt(known: Iterable[Iterable[str]]) -> str:
    """Why this process may not see the real processes; empty if it does. `known`: namespaces recorded by engines."""
    if not operating_system.is_linux():
        return ""
    own = _own()
    if own is None:
        return "where /proc does not show the real processes of this system"
    for first, mine, theirs in zip(FIRST, own, zip(*known, strict=False), strict=False):
        if mine != first and mine not in theirs:
            kind = "users" if mine.startswith("user:") else "processes"
            return f"in a namespace of {kind} in which the gateway does not run"
    return ""


def _own() -> list[str] | None:
    """Our namespaces from the real /proc; None if /proc is not the real one."""
    handles = []
    try:
        handles.append(root := os.open("/proc", _O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
        if _file_system(root) != _PROC_MAGIC:
            return None
        handles.append(link := _opened(root, "self", _O_PATH | os.O_NOFOLLOW))
        me = os.readlink("", dir_fd=link)
        handles.append(stat := _opened(root, f"{me}/stat", os.O_RDONLY))
        handles.append(folder := _opened(root, f"{me}/ns", os.O_RDONLY | os.O_DIRECTORY))
        if me != str(os.getpid()) or os.read(stat, 64).split()[0] != me.encode():
            return None
        return [os.readlink(kind, dir_fd=folder) for kind in ("user", "pid")]
    except (OSError, IndexError):
        return None
    finally:
        for handle in handles:
            os.close(handle)


def _file_system(handle: int) -> int:
    """The magic number of the file system. Raises `OSError`."""
    buffer = ctypes.create_string_buffer(_BUFFER_BYTES)
    if ctypes.CDLL(None, use_errno=True).fstatfs(handle, buffer) != 0:
        raise OSError(ctypes.get_errno(), "fstatfs")
    return int(ctypes.c_uint.from_buffer(buffer).value or ctypes.c_ulong.from_buffer(buffer).value)


def _opened(root: int, path: str, flags: int) -> int:
    """Opens a path below this folder, on the same mount if the kernel can enforce it. Raises `OSError`."""
    how = _How(flags | os.O_CLOEXEC, 0, _NO_CROSSING)
    library = ctypes.CDLL(None, use_errno=True)
    with suppress(AttributeError):
        library.syscall.restype = ctypes.c_long
        handle = library.syscall(_OPENAT2, root, os.fsencode(path), ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how)))
        if handle >= 0:
            return int(handle)
        if ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM):
            raise OSError(ctypes.get_errno(), path)
    return os.open(path, flags | os.O_CLOEXEC, dir_fd=root)
