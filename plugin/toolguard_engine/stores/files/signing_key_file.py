"""The key that signs toolguard's state: 32 random bytes in `<state dir>/toolguard/key`, mode 0600."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from toolguard_engine.stores import atomic, disk
from toolguard_engine.stores.signing_key import SigningKeyError
from toolguard_engine.stores.state_files import KEY as NAME

SIZE = 32
MAX_BYTES = 4_096


def path(state_dir: Path) -> Path:
    return atomic.own_folder(state_dir) / NAME


def load(state_dir: Path) -> bytes:
    """The key; made at the first use. Raises `SigningKeyError`."""
    try:
        if not atomic.is_there(path(state_dir)):
            atomic.create(path(state_dir), secrets.token_bytes(SIZE))  # of several processes, the first one wins
    except OSError as error:
        raise SigningKeyError(f"{path(state_dir)}: {error.strerror or error}") from error
    return known(state_dir)


def known(state_dir: Path) -> bytes:
    """The key; never made. Raises `SigningKeyError`."""
    place = path(state_dir)
    try:
        _check(disk.look_at_link(place), place)
        key = atomic.read_bounded(place, MAX_BYTES)
    except OSError as error:
        raise SigningKeyError(f"{place}: {error.strerror or error}") from error
    if len(key) != SIZE:
        raise SigningKeyError(f"{place} is not a key of {SIZE} bytes; delete it; waiting calls must then be requested again")
    return key


def _check(status: os.stat_result, place: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SigningKeyError(f"{place} is not a regular file; delete it")
    if status.st_mode & 0o077:
        raise SigningKeyError(f"{place} can be read by others, so it proves nothing; delete it")
    if status.st_uid not in (os.geteuid(), 0) and os.geteuid() != 0:
        raise SigningKeyError(f"{place} belongs to another user; delete it")


class SigningKeyFile:
    """The key of one state directory."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    @property
    def path(self) -> Path:
        return path(self._state_dir)

    def load(self) -> bytes:
        return load(self._state_dir)

    def known(self) -> bytes:
        return known(self._state_dir)
