"""What takes the place of a keeper on macOS: a profile in a file, with which `sandbox-exec` runs each command."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path

from toolguard_engine.containment.rules import RoomRule
from toolguard_engine.containment.sandbox_text import text
from toolguard_engine.server import room_causes
from toolguard_engine.stores import atomic

PROGRAM = room_causes.SANDBOX
ENDING = ".sb"
MAX_FILES = 50
"""More are removed, the oldest first: of what commands were told long ago."""


class SandboxProfile:
    """`pid` is the number of its file. The same rules have the same number, also after a restart. Raises `OSError`."""

    def __init__(self, rules: tuple[RoomRule, ...], folder: Path) -> None:
        data = os.fsencode(text(rules, os.path.realpath))
        self.pid = zlib.crc32(data) or 1
        self.is_proven: bool | None = None
        self._file = file_of(folder, self.pid)
        self._data = data
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.is_current():
            atomic.replace(self._file, data, durable=False)
        _tidy(folder, self._file)

    def is_current(self) -> bool:
        """Whether the file is there and is what the rules say."""
        try:
            return atomic.read_bounded(self._file, len(self._data)) == self._data
        except OSError:
            return False

    def close(self) -> None:
        """A command that was told it may not have begun yet."""


def file_of(folder: Path, number: int) -> Path:
    return folder / f"{number}{ENDING}"


def _tidy(folder: Path, kept: Path) -> None:
    with suppress(OSError):
        files = sorted(folder.glob(f"*{ENDING}"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in files[MAX_FILES:]:
            if path != kept:
                path.unlink(missing_ok=True)
