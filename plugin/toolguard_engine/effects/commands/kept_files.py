"""What a command has found out about files, in the form in which it is kept for the next time that the command runs.

Most of the two dozen collections of a `RunFiles` are empty, and a thousand commands are kept: an empty one takes no room.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from toolguard_engine.effects.commands.asked_files import AskedFiles
from toolguard_engine.effects.commands.later_files import LaterFiles
from toolguard_engine.model.file_memory import FileMemory

_NOTHING: dict[Any, Any] = {}
"""Stands for all that is empty, and is given to nobody who changes it."""

_TAKEN = (
    "made_asked", "brought_asked", "copied_asked", "untouched", "_untouched", "unread", "ran", "patterns", "named", "opaque",
    "foreign", "_copies",
)  # fmt: skip
"""What the same command knows without asking again."""

_taken = attrgetter(*_TAKEN)
_LATER = LaterFiles.__slots__
_later = attrgetter(*_LATER)


class KeptFiles:
    """`made`, `version`: the memory of files, and the version of it of which this is true; `asked`: see `AskedFiles`;
    `taken`: its other members that are not empty. They are only read."""

    __slots__ = ("_later", "asked", "made", "runs", "taken", "version", "was_empty")

    def __init__(self, files: AskedFiles, made: FileMemory, version: int) -> None:
        self.made = made
        self.version = version
        self.was_empty = files.was_empty
        self.runs = files.runs
        self.asked = files.asked or _NOTHING
        self.taken: dict[str, dict[Any, Any]] = _not_empty(_TAKEN, _taken(files)) or _NOTHING
        self._later = _not_empty(_LATER, _later(files.later)) or _NOTHING

    def give(self, files: AskedFiles) -> None:
        """Tells a command what the same one has found out."""
        files.runs = self.runs
        for name, known in self.taken.items():
            setattr(files, name, known)
        if files.unread:
            files.unread = dict(files.unread)
        for name, known in self._later.items():
            setattr(files.later, name, known)


def _not_empty(names: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    return {name: known for name, known in zip(names, values, strict=True) if known}
