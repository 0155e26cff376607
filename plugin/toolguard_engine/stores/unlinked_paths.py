"""The folder above a path, opened so that no symbolic link put in its place leads elsewhere. Commands that run meanwhile
could put one there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def parent(path: str) -> Iterator[tuple[int, str]]:
    """The folder above an absolute path, and the name in it. Raises `OSError`, also where a link is on the way."""
    *folders, name = path.strip("/").split("/")
    handle = os.open("/", _FOLDER)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle, name
    finally:
        os.close(handle)
