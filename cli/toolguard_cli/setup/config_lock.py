"""Serializes changes of the gateway's config by toolguard commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import atomic
from toolguard_engine.stores import locked as stores

LOCK_SECONDS = 30
"""Long enough for a slow machine; validating a change with OpenClaw takes seconds."""


@contextmanager
def locked(places: Places) -> Iterator[None]:
    """Raises `UserError` if another command holds the lock for too long."""
    atomic.make_folder(places.state_dir)
    with ExitStack() as held:
        try:
            held.enter_context(stores.lock(places.own / "install", seconds=LOCK_SECONDS))
        except stores.Busy as error:
            raise UserError(
                "another toolguard command is changing the config", "wait until it ends, then try again"
            ) from error
        except stores.StoreError as error:
            raise UserError(str(error), "check its owner, its mode and the space on its disk") from error
        yield
