"""Two files or folders change places in one step, where the system can do that."""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

_HERE = -100
"""`AT_FDCWD`, and the flag `RENAME_EXCHANGE` of Linux: renameat2(2). `RENAME_SWAP` of macOS has the same value."""
_EXCHANGE = 2
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


def exchange(one: Path, other: Path) -> bool:
    """Returns False where the C library, the kernel or the file system cannot do this. Raises `OSError`."""
    call = _call()
    if call is None:
        return False
    if call(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(other))


@cache
def _call() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    if hasattr(library, "renameat2"):
        return lambda one, other: library.renameat2(_HERE, one, _HERE, other, _EXCHANGE)
    if hasattr(library, "renamex_np"):
        return lambda one, other: library.renamex_np(one, other, _EXCHANGE)
    return None
