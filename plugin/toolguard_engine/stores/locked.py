"""A JSON file that several processes change: lock, read, change, write to a temporary file, replace.

The lock file is beside it and is never removed. A file that cannot be decoded is kept as `<name>.corrupt-<time>`. While one
of those exists, nothing is read or written, because the lost state may contain denials; `toolguard doctor --fix` moves it
away.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from toolguard_engine.stores import atomic

T = TypeVar("T")

LOCK_SECONDS = 2.0
"""A lock that is held longer is held by a process that hangs."""

LOCK_POLL_SECONDS = 0.002
MAX_BYTES = 32 * 1024 * 1024


class StoreError(Exception):
    """The store cannot be used now. `code` is stable; the text names the fix."""

    code = "store.unavailable"


class Damaged(StoreError):  # noqa: N818 - an answer
    """A file is not what toolguard wrote. It is kept, and nothing is approved until it is moved away."""

    code = "store.damaged"


class Busy(StoreError):  # noqa: N818 - an answer
    """Another process holds the lock."""

    code = "store.busy"


def unusable(path: Path, error: OSError | ValueError) -> StoreError:
    """A system error about a path, as a `StoreError`. `ValueError`: its name contains NUL."""
    return StoreError(f"{str(path)!a}: {getattr(error, 'strerror', None) or error}")


class LockedFile(Generic[T]):
    """One file with one value of type `kind`; a missing file holds `kind()`. A value that `is_ours` rejects is damaged."""

    def __init__(self, path: Path, kind: type[T], is_ours: Callable[[T], bool] = lambda _: True) -> None:
        self.path = path
        self._kind = kind
        self._is_ours = is_ours
        self._decoder = msgspec.json.Decoder(kind)

    def read(self, *, keep_aside: bool = True) -> T:
        """The current value. Raises `StoreError`. Without `keep_aside` a damaged file stays where it is."""
        self._refuse_after_damage()
        try:
            data = atomic.read_bounded(self.path, MAX_BYTES)
        except atomic.Unfit:
            data = b""
        except FileNotFoundError:
            self._refuse_after_damage()  # another process may have put it aside just now
            return self._kind()
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error
        try:
            value = self._decoder.decode(data)
            if not self._is_ours(value):
                raise msgspec.ValidationError("it was not written by toolguard")
            return value  # noqa: TRY300 - a rejected value is damaged too
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not keep_aside:
                raise Damaged(f"{self.path} is damaged; run `toolguard doctor --fix`") from error
            kept_as = self._keep_aside()
            raise Damaged(f"{self.path} was damaged and is kept as {kept_as}; run `toolguard doctor --fix`") from error

    def write(self, value: T, *, durable: bool = True) -> None:
        """Replaces the file. Call it under `locked`. Raises `StoreError`; then the old file is untouched."""
        try:
            data = msgspec.json.encode(value)
            if len(data) > MAX_BYTES:
                raise StoreError(f"{self.path}: too much to keep: {len(data)} bytes")
            clear_leftovers(self.path)
            atomic.replace(self.path, data, durable=durable)
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error

    @contextmanager
    def locked(self, *, patient: bool = True) -> Iterator[None]:
        """Holds the lock. Raises `StoreError`; without `patient` it does not wait."""
        with lock(self.path, patient=patient):
            yield

    def _refuse_after_damage(self) -> None:
        try:
            kept = _beside(self.path, f"{self.path.name}.corrupt-")
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError) as error:
            raise unusable(self.path.parent, error) from error
        if kept:
            raise Damaged(f"{kept[-1]} is what is left of a damaged store; run `toolguard doctor --fix`")

    def _keep_aside(self) -> str:
        name = f"{self.path.name}.corrupt-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}"
        try:
            with suppress(FileNotFoundError):  # another process was faster
                self.path.replace(self.path.with_name(name))
        except OSError as error:
            raise Damaged(f"{self.path} is damaged and cannot be put aside: {error.strerror or error}") from error
        return name


def corrupt_files(path: Path) -> list[Path]:
    """Damaged versions of this store that were kept, the oldest first."""
    try:
        return _beside(path, f"{path.name}.corrupt-")
    except (OSError, ValueError):
        return []


def clear_leftovers(path: Path) -> None:
    """Removes temporary files of a process that was killed while it replaced `path`. Call it under the lock of `path`."""
    for left in _beside(path, f".{path.name}."):
        left.unlink(missing_ok=True)


@contextmanager
def lock(path: Path, *, patient: bool = True) -> Iterator[None]:
    """The lock that belongs to `path`. Raises `StoreError`; without `patient` it does not wait."""
    from filelock import FileLock, Timeout  # noqa: PLC0415 - 60 ms, and most engines never hold a call

    beside = path.with_name(f"{path.name}.lock")
    try:
        atomic.make_folder(path.parent)
        held = FileLock(beside, timeout=LOCK_SECONDS if patient else 0, poll_interval=LOCK_POLL_SECONDS, mode=0o600)
        held.acquire()
    except Timeout as error:
        raise Busy(f"{beside} is held by another process; if none of yours hangs, try again") from error
    except (OSError, ValueError) as error:
        raise unusable(beside, error) from error
    except NotImplementedError as error:
        raise StoreError(f"{beside}: {error}") from error
    try:
        atomic.belong_to_folder(beside)
        yield
    finally:
        held.release()


def _beside(path: Path, prefix: str) -> list[Path]:
    names = os.listdir(path.parent)  # noqa: PTH208 - on the path of every held call
    return [path.with_name(name) for name in sorted(names) if name.startswith(prefix)]
