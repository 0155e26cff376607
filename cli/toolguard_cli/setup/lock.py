"""One change of the gateway's config at a time, among all commands of toolguard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import filelock

from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_engine.stores import files

LOCK_SECONDS = 30
"""Long enough for a slow machine; asking OpenClaw about a change takes seconds of it."""


@contextmanager
def locked(places: Places) -> Iterator[None]:
    """Raises `UserError` where another command does not end."""
    for made in (places.state_dir, places.own):
        files.make_folder(made)
    lock = filelock.FileLock(places.own / "install.lock", timeout=LOCK_SECONDS)
    try:
        lock.acquire()
        files.belong_to_folder(places.own / "install.lock")
    except filelock.Timeout as error:
        raise UserError("another toolguard changes the config right now", "wait for it to end, then repeat") from error
    try:
        yield
    finally:
        lock.release()
