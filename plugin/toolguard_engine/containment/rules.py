"""One rule of a room: what a path becomes for the commands in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["hide", "show", "read-only", "own", "write", "offline"]
OUTSIDE = "outside"
"""The door of a command that runs in no room."""

STARTUP = "startup"
"""The door of a command whose text says that it changes start-up files."""


class RoomRule(NamedTuple):
    """`hide`: an empty read-only folder, or an empty file; `show`: as it is, in a hidden folder; `read-only`; `own`: copies
    of the folder's files that belong to the user; `write`: writable in a read-only folder; `offline`: no network but
    the own loopback, whatever the path. `door`: the rule does not hold
    for a command with this door. A path that does not exist has no effect."""

    kind: Kind
    path: Path
    door: str = ""


def behind(rules: Iterable[RoomRule], doors: frozenset[str]) -> tuple[RoomRule, ...]:
    """The rules that hold for a command with these doors."""
    return tuple(rule for rule in rules if not rule.door or rule.door not in doors)
