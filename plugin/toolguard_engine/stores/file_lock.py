"""A lock between processes: `flock` on a file, by `filelock`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock, Timeout

POLL_SECONDS = 0.002


def acquired(path: Path, seconds: float) -> Callable[[], None]:
    """Locks `path`; returns what releases it. Follows no link, and fails on a file system without `flock` rather than rely
    on the existence of a file, which a killed process would leave behind. Raises `TimeoutError`, `OSError`, `ValueError`."""
    file_lock, timeout = library()  # most commands take no lock
    held = file_lock(path, seconds, 0o600, poll_interval=POLL_SECONDS, fallback_to_soft=False)
    try:
        held.acquire()
    except (timeout, RuntimeError) as error:  # RuntimeError: this thread holds it already
        raise TimeoutError(str(error)) from error
    return held.release


@cache
def library() -> tuple[type[BaseFileLock], type[Timeout]]:
    """`filelock.FileLock` and its error. The package imports all its kinds of locks, with `asyncio` and `ssl`, which takes
    far longer than the one kind that is used here. So that one is imported by its own module; from a release that has no
    module of that name, the whole package is."""
    with suppress(ImportError), _package_without_content("filelock"):
        from filelock._error import Timeout
        from filelock._unix import UnixFileLock

        return UnixFileLock, Timeout
    import filelock

    return filelock.FileLock, filelock.Timeout


@contextmanager
def _package_without_content(name: str) -> Iterator[None]:
    """Modules of this package can be imported without what the package itself does when it is imported."""
    spec = None if name in sys.modules else PathFinder.find_spec(name)
    if spec is None:
        yield
        return
    stand_in = ModuleType(name)
    stand_in.__path__ = spec.submodule_search_locations or []
    sys.modules[name] = stand_in
    try:
        yield
    finally:
        del sys.modules[name]
