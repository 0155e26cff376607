"""Serializes changes of the gateway's config by toolguard commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import filelock

from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import atomic

LOCK_SECONDS = 30
"""Long enough for a slow machine; validating a change with OpenClaw takes seconds."""


@contextmanager
def locked(places: Places) -> Iterator[None]:
    """Raises `UserError` if another command holds the lock for too long."""
    for made in (places.state_dir, places.own):
        atomic.make_folder(made)
    lock = filelock.FileLock(places.own / "install.lock", timeout=LOCK_SECONDS)
    try:
        lock.acquire()
        atomic.belong_to_folder(places.own / "install.lock")
    except filelock.Timeout as error:
        raise UserError("another toolguard command is changing the config", "wait until it ends, then try again") from error
    try:
        yield
    finally:
        lock.release()
