"""The key that signs what toolguard writes about approvals: 32 random bytes in `<state dir>/toolguard/key`, mode 0600."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from toolguard_engine.stores import files
from toolguard_engine.stores.locked import StoreError

NAME = "key"
SIZE = 32


class BadKey(StoreError):  # noqa: N818 - like its siblings
    """The key is not there in a form that can be trusted."""

    code = "store.key"


def path(state_dir: Path) -> Path:
    return files.own_folder(state_dir) / NAME


def load(state_dir: Path) -> bytes:
    """The key; made at the first use. Raises `BadKey`."""
    try:
        if not path(state_dir).exists():
            _make(path(state_dir))
    except OSError as error:
        raise BadKey(f"{path(state_dir)}: {error.strerror or error}") from error
    return known(state_dir)


def known(state_dir: Path) -> bytes:
    """The key as it is there; none is made. Raises `BadKey`."""
    place = path(state_dir)
    try:
        _check(place.lstat(), place)
        key = place.read_bytes()
    except OSError as error:
        raise BadKey(f"{place}: {error.strerror or error}") from error
    if len(key) != SIZE:
        raise BadKey(f"{place} is not a key of {SIZE} bytes; delete it, and what waits now must be asked for again")
    return key


def sign(key: bytes, data: bytes) -> str:
    return hmac.digest(key, data, "sha256").hex()


def fits(key: bytes, data: bytes, mac: str) -> bool:
    return hmac.compare_digest(sign(key, data).encode(), mac.encode(errors="replace"))


def _make(place: Path) -> None:
    """Whole or not at all, and the first one wins: `link` refuses a name that is taken."""
    files.make_folder(place.parent)
    handle, beside = tempfile.mkstemp(prefix=".key.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(SIZE))
            file.flush()
            os.fsync(file.fileno())
        files.belong_to_folder(Path(beside))
        with suppress(FileExistsError):
            os.link(beside, place)
    finally:
        Path(beside).unlink(missing_ok=True)


def _check(found: os.stat_result, place: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise BadKey(f"{place} is no regular file; delete it")
    if found.st_mode & 0o077:
        raise BadKey(f"{place} can be read by others, so it proves nothing; delete it")
    if found.st_uid not in (os.geteuid(), 0) and os.geteuid() != 0:
        raise BadKey(f"{place} belongs to another user; delete it")
