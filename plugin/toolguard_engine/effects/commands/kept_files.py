"""What a command has found out about files, in the form in which it is kept for the next time that the command runs.

Most of the two dozen collections of a `RunFiles` are empty, and a thousand commands are kept: an empty one takes no room.
"""

from __future__ import annotations

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


class KeptFiles:
    """`made`, `version`: the memory of files, and the version of it of which this is true; `asked`: see `AskedFiles`."""

    __slots__ = (*_TAKEN, "_later", "asked", "made", "runs", "version", "was_empty")

    brought_asked: dict[str, bool]
    copied_asked: dict[str, str]
    made_asked: dict[str, bool]
    named: dict[tuple[str, str], list[str]]
    patterns: dict[str, list[str]]
    _untouched: dict[tuple[str, ...], None]

    def __init__(self, files: AskedFiles, made: FileMemory, version: int) -> None:
        self.made = made
        self.version = version
        self.was_empty = files.was_empty
        self.runs = files.runs
        self.asked = files.asked or _NOTHING
        for name in _TAKEN:
            setattr(self, name, getattr(files, name) or _NOTHING)
        self._later = tuple([getattr(files.later, name) or None for name in LaterFiles.__slots__])

    @property
    def untouched_together(self) -> dict[tuple[str, ...], None]:
        """The files that were asked about together, and that no agent made or brought."""
        return self._untouched

    def give(self, files: AskedFiles) -> None:
        """Tells a command what the same one has found out."""
        files.runs = self.runs
        for name in _TAKEN:
            if known := getattr(self, name):
                setattr(files, name, known)
        files.unread = dict(files.unread)
        for name, known in zip(LaterFiles.__slots__, self._later, strict=True):
            if known:
                setattr(files.later, name, known)
