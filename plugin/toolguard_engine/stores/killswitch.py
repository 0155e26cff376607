"""The kill switch: a file that is there while a person has stopped everything, `<state dir>/toolguard/kill-switch`.

The law: a file that cannot be read counts as on.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from toolguard_engine.redact import UNPRINTABLE, cut
from toolguard_engine.stores import files
from toolguard_engine.stores.locked import StoreError

NAME = "kill-switch"
MAX_BYTES = 10_000
UNREADABLE = "its file cannot be read"


class Unwritten(StoreError):  # noqa: N818 - an answer
    code = "kill-switch.unwritten"


class Thrown(msgspec.Struct):
    """Who switched it on, why, and when, in seconds since 1970."""

    by: str = ""
    why: str = ""
    at: float = 0.0


class KillSwitch:
    """That of one state directory, for all its gateways."""

    def __init__(self, state_dir: Path) -> None:
        self.path = files.own_folder(state_dir) / NAME

    def thrown(self) -> Thrown | None:
        """None while it is off."""
        try:
            found = msgspec.json.decode(files.read_bounded(self.path, MAX_BYTES), type=Thrown)
        except (FileNotFoundError, NotADirectoryError):
            return Thrown(why=UNREADABLE) if os.path.lexists(self.path) else None  # a link to nowhere is there
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Thrown(why=UNREADABLE)
        except ValueError:  # a NUL in its name: there is no such file
            return None
        return found

    def why(self) -> str:
        """One line; empty while it is off."""
        thrown = self.thrown()
        if thrown is None:
            return ""
        by = f" (by {cut(thrown.by)})" if thrown.by else ""
        return UNPRINTABLE.sub("?", f"{thrown.why or 'a person stopped everything'}{by}")

    def set(self, *, on: bool, by: str, why: str) -> None:
        """One that is on keeps its first reason and time unless there is a new reason. Raises `Unwritten`."""
        before = self.thrown() if on and not why else None
        if before is not None and before.why != UNREADABLE:
            return
        try:
            if on:
                files.make_folder(self.path.parent)
                files.replace(self.path, msgspec.json.encode(Thrown(by, why, time.time())), durable=True)
            else:
                self.path.unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            raise Unwritten(f"{str(self.path)!a}: {getattr(error, 'strerror', None) or error}") from error
