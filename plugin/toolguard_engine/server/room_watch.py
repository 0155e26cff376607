"""Whether what the rules of a room lie on is still there, and what was missing is still missing.

Asked before each command. What is missing is not looked for each time, only if the folder that it would appear in has
changed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from toolguard_engine.containment.rules import RoomRule

SETTLED = 1_000_000_000
"""Nanoseconds after which a change of a folder has a later time than the one before."""

Identity = tuple[int, int, int]


class RoomWatch:
    """The keeper of the room has open what is there, so that no number comes to stand for another file."""

    def __init__(self, rules: Iterable[RoomRule]) -> None:
        self._copied = {os.fspath(rule.path) for rule in rules if rule.kind == "own"}
        self._there: dict[str, Identity] = {}
        self._missing: dict[str, list[str]] = {}
        self._seen: dict[str, Identity | None] = {}
        for path in dict.fromkeys(os.fspath(rule.path) for rule in rules):
            if stat := _stat(path):
                self._there[path] = self._identity(path, stat)
            else:
                self._await(path)

    def _identity(self, path: str, stat: os.stat_result) -> Identity:
        """What tells a folder apart whose files are copied, also when that changed."""
        return stat.st_dev, stat.st_ino, stat.st_mtime_ns if path in self._copied else 0

    def _await(self, path: str) -> None:
        folder = _folder_above(path)
        self._missing.setdefault(folder, []).append(path)
        self._seen[folder] = None

    def is_current(self) -> bool:
        for path, known in self._there.items():
            if (stat := _stat(path)) is None or self._identity(path, stat) != known:
                return False
        return all(self._is_still_missing(folder) for folder in tuple(self._missing))

    def _is_still_missing(self, folder: str) -> bool:
        stat = _stat(folder)
        if stat is None:
            return False
        now: Identity = (stat.st_dev, stat.st_ino, stat.st_mtime_ns)
        if self._seen[folder] == now:
            return True
        paths = self._missing.pop(folder)
        if any(_stat(path) for path in paths):
            return False
        for path in paths:  # a folder on the way may be there now
            self._await(path)
        if folder in self._missing and time.time_ns() - stat.st_mtime_ns > SETTLED:
            self._seen[folder] = now
        return True


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - for each path at each command
    except (OSError, ValueError):
        return None


def _folder_above(path: str) -> str:
    """The nearest that exists."""
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        if _stat(path):
            return path
    return path
