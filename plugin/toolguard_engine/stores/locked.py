"""A JSON file that several processes change: lock, read, change, write to a temporary file, replace.

The lock file is beside it and is never removed. A file that cannot be decoded is kept as `<name>.corrupt-<time>`. While one
of those exists, nothing is read or written, because the lost state may contain denials; `toolguard doctor --fix` moves it
away.

Other versions of toolguard share these files. Members that this version does not know are kept when it writes. A file with
a higher `v` than ours is neither read nor written.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from toolguard_engine.stores import atomic, disk, file_lock


class _Versioned(Protocol):
    @property
    def v(self) -> int: ...


T = TypeVar("T", bound=_Versioned)

LOCK_SECONDS = 2.0
"""A lock that is held longer is held by a process that hangs."""

MAX_BYTES = 32 * 1024 * 1024


class StoreError(Exception):
    """The store cannot be used now. `code` is stable; the text names the fix."""

    code = "store.unavailable"


class Damaged(StoreError):  # noqa: N818 - an answer
    """A file is not what toolguard wrote. It is kept, and nothing is approved until it is moved away."""

    code = "store.damaged"


class Newer(StoreError):  # noqa: N818 - an answer
    """A newer version of toolguard wrote the file, in a form that this one does not know."""

    code = "store.newer"

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was written by a newer toolguard; update toolguard")


class Busy(StoreError):  # noqa: N818 - an answer
    """Another process holds the lock."""

    code = "store.busy"


def unusable(path: Path, error: OSError | ValueError) -> StoreError:
    """A system error about a path, as a `StoreError`. `ValueError`: its name contains NUL."""
    return StoreError(f"{str(path)!a}: {getattr(error, 'strerror', None) or error}")


def is_there(path: Path) -> bool:
    """Raises `StoreError`."""
    try:
        disk.look(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        raise unusable(path, error) from error
    return True


class LockedFile(Generic[T]):
    """One file with one value of type `kind`; a missing file holds `kind()`. A value that `is_ours` rejects is damaged; it
    is given the value and the file's content."""

    def __init__(self, path: Path, kind: type[T], is_ours: Callable[[T, bytes], bool] = lambda *_: True) -> None:
        self.path = path
        self._kind = kind
        self._is_ours = is_ours
        self._decoder = msgspec.json.Decoder(kind)
        self._holder = 0
        """The thread that holds the lock."""
        self._before: tuple[bytes, bytes] | None = None
        """What that thread read: as this version writes it, and as it was."""

    def read(self, *, keep_aside: bool = True) -> T:
        """The current value. Raises `StoreError`. Without `keep_aside` a damaged file stays where it is."""
        self.refuse_after_damage()
        try:
            data = atomic.read_bounded(self.path, MAX_BYTES)
        except atomic.Unfit:
            data = b""
        except FileNotFoundError:
            self.refuse_after_damage()  # another process may have put it aside just now
            return self._kind()
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error
        try:
            value = self._decoded(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.damaged(keep_aside=keep_aside) from error
        if self._holder == threading.get_ident():
            self._before = msgspec.json.encode(value), data
        return value

    def _decoded(self, data: bytes) -> T:
        version = self._kind().v
        try:
            value = self._decoder.decode(data)
        except msgspec.DecodeError:
            if msgspec.json.decode(data, type=_Version).v > version:
                raise Newer(self.path) from None
            raise
        if value.v > version:
            raise Newer(self.path)
        if not self._is_ours(value, data):
            raise msgspec.ValidationError("it was not written by toolguard")
        return value

    def whole(self, value: T) -> T | dict[str, Any]:
        """`value` with those members of the file that this version does not know. Call it under `locked`, after `read`."""
        if self._before is None or self._before[0] == self._before[1]:
            return value
        parts = (msgspec.json.decode(part) for part in (msgspec.json.encode(value), *self._before))
        members: dict[str, Any] = with_unknown(*parts)
        return members

    def write(self, value: T | dict[str, Any], *, durable: bool = True) -> None:
        """Replaces the file. Call it under `locked`, after `read`. Raises `StoreError`; then the old file is untouched."""
        try:
            data = msgspec.json.encode(value if isinstance(value, dict) else self.whole(value))
            if len(data) > MAX_BYTES:
                raise StoreError(f"{self.path}: too large to store: {len(data)} bytes")
            clear_leftovers(self.path)
            atomic.replace(self.path, data, durable=durable)
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error

    @contextmanager
    def locked(self, *, patient: bool = True) -> Iterator[None]:
        """Holds the lock. Raises `StoreError`; without `patient` it does not wait."""
        with lock(self.path, patient=patient):
            self._holder, self._before = threading.get_ident(), None
            try:
                yield
            finally:
                self._holder, self._before = 0, None

    def refuse_after_damage(self) -> None:
        """Raises `StoreError` while a damaged file is kept."""
        try:
            kept = _beside(self.path, f"{self.path.name}.corrupt-")
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError) as error:
            raise unusable(self.path.parent, error) from error
        if kept:
            raise Damaged(f"{kept[-1]} is what is left of a damaged store; run `toolguard doctor --fix`")

    def damaged(self, *, keep_aside: bool, beside: Collection[Path] = ()) -> Damaged:
        """What to raise for a file that cannot be decoded; unless it is to stay, it is put aside with those `beside` it."""
        if not keep_aside:
            return Damaged(f"{self.path} is damaged; run `toolguard doctor --fix`")
        kept_as = self._keep_aside(beside)
        return Damaged(f"{self.path} was damaged and is kept as {kept_as}; run `toolguard doctor --fix`")

    def _keep_aside(self, beside: Collection[Path]) -> str:
        name = f"{self.path.name}.corrupt-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}"
        try:
            for path in (self.path, *beside):
                kept_as = name if path == self.path else f"{name}{path.suffix}"
                with suppress(FileNotFoundError):  # another process was faster
                    disk.rename(path, path.with_name(kept_as))
        except OSError as error:
            raise Damaged(f"{self.path} is damaged and cannot be moved aside: {error.strerror or error}") from error
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
        atomic.remove(left)


def lock_file(path: Path) -> Path:
    """The file by which `path` is locked."""
    return path.with_name(f"{path.name}.lock")


@contextmanager
def lock(path: Path, *, patient: bool = True, seconds: float | None = None) -> Iterator[None]:
    """The lock that belongs to `path`. Raises `StoreError`; without `patient` it does not wait, otherwise for `seconds`, by
    default `LOCK_SECONDS`."""
    beside = lock_file(path)
    try:
        atomic.make_folder(path.parent)
    except (OSError, ValueError) as error:
        raise unusable(beside, error) from error
    release = _acquired(beside, (LOCK_SECONDS if seconds is None else seconds) if patient else 0.0)
    try:
        _give(beside)
        yield
    finally:
        with suppress(OSError):  # what was written stays written, and the lock ends with this process at the latest
            release()


def load() -> None:
    """Imports what `lock` imports when it is first called."""
    file_lock.library()


def _give(beside: Path) -> None:
    try:
        atomic.belong_to_folder(beside)
    except OSError as error:
        raise unusable(beside, error) from error


def _acquired(beside: Path, seconds: float) -> Callable[[], None]:
    try:
        return disk.lock(beside, seconds)
    except TimeoutError as error:
        raise Busy(
            f"{beside} is locked by another process; check whether one of your processes hangs, then try again"
        ) from error
    except (OSError, ValueError) as error:
        raise unusable(beside, error) from error


def _beside(path: Path, prefix: str) -> list[Path]:
    names = disk.names(path.parent)
    return [path.with_name(name) for name in sorted(names) if name.startswith(prefix)]


class _Version(msgspec.Struct):
    v: int = 0


def with_unknown(new: Any, known: Any, raw: Any) -> Any:
    """`new` with the members of `raw` that are not in `known`, which is what this version understands of it."""
    if new == known:
        return raw
    if isinstance(new, dict) and isinstance(known, dict) and isinstance(raw, dict):
        both = known.keys() & raw.keys()
        kept = {key: with_unknown(value, known[key], raw[key]) if key in both else value for key, value in new.items()}
        return {**kept, **{key: value for key, value in raw.items() if key not in known and key not in new}}
    if isinstance(new, list) and isinstance(known, list) and isinstance(raw, list):
        return [raw[known.index(item)] if item in known else item for item in new]
    return new
