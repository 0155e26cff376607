"""The kill switch: a file that exists while it is on, `<state dir>/toolguard/kill-switch`.

Invariant: a file that cannot be read counts as on.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.state_files import KILL_SWITCH as NAME
from toolguard_engine.stores.values import KillSwitchState
from toolguard_engine.wording.redact import cut
from toolguard_engine.wording.visible_text import visible

MAX_BYTES = 10_000
UNREADABLE = "its file cannot be read"


class Unwritten(StoreError):  # noqa: N818 - an answer
    code = "kill-switch.unwritten"


class KillSwitchFile:
    """The kill switch of one state directory, for all its gateways."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME

    def thrown(self) -> KillSwitchState | None:
        """None while it is off."""
        try:
            state = msgspec.json.decode(atomic.read_bounded(self.path, MAX_BYTES), type=KillSwitchState)
        except (FileNotFoundError, NotADirectoryError):
            return KillSwitchState(why=UNREADABLE) if atomic.may_be_there(self.path) else None  # a dangling link counts
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return KillSwitchState(why=UNREADABLE)
        except ValueError:  # NUL in the path: there is no such file
            return None
        return state

    def why(self) -> str:
        """One line; empty while it is off."""
        thrown = self.thrown()
        if thrown is None:
            return ""
        by = f" (by {cut(thrown.by)})" if thrown.by else ""
        return visible(f"{thrown.why or 'a person stopped everything'}{by}")

    def set(self, *, on: bool, by: str, why: str) -> None:
        """One that is on keeps its first reason and time unless there is a new reason. Raises `Unwritten`."""
        before = self.thrown() if on and not why else None
        try:
            if before is not None and before.why != UNREADABLE:
                atomic.sync_folder(self.path)  # whoever turned it on may have been killed
                return
            if on:
                atomic.make_folder(self.path.parent)
                atomic.replace(self.path, msgspec.json.encode(KillSwitchState(by, why, time.time())), durable=True)
            else:
                atomic.remove(self.path, durable=True)
        except (OSError, ValueError) as error:
            raise Unwritten(f"{str(self.path)!a}: {getattr(error, 'strerror', None) or error}") from error
