"""What a held call would do, with what is there now: how many files, how large, changed when. Read when a person is shown
the call, never when it is judged. Nothing is opened, no link is followed, and the walk is bounded in entries and time."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase

from toolguard_engine.approvals import effect_words
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.model.held_details import MAX_TARGET, HeldDetails, HeldEffect
from toolguard_engine.wording import printable

MAX_ENTRIES = 50_000
MAX_MATCHES = 1_000
SECONDS = 0.5
"""For all effects of one call."""

_ON_FILES = frozenset(["delete", "empty", "write", "move", "permissions", "owner", "encrypt", "pack", "mcp-write"])
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_UNIT = 1_000

Facts = Callable[[HeldEffect], str]


def lines(details: HeldDetails | None, now: float, more: Facts | None = None) -> list[str]:
    """One line for each effect. `now`: seconds since 1970; `more`: what else is known of an effect, empty for nothing."""
    return lines_of([details], now, more)[0]


def lines_of(calls: Iterable[HeldDetails | None], now: float, more: Facts | None = None) -> list[list[str]]:
    """The same for several calls, within the bounds for one."""
    look = _Look(now)
    return [_lines(details, look, more) if details else [] for details in calls]


def _lines(details: HeldDetails, look: _Look, more: Facts | None) -> list[str]:
    rows = [_line(effect, look.describe(effect), more(effect) if more else "") for effect in details.effects]
    return [*rows, *([f"and {details.more} more"] if details.more else [])]


def rules(details: HeldDetails | None) -> list[str]:
    """One line for each rule, those with a severity first, then the strongest."""
    ordered = sorted(details.rules, key=lambda rule: (not rule.severity, -rule.strength)) if details else []
    return [printable.plain(f"{rule.rule}{f' ({rule.severity})' * bool(rule.severity)}: {rule.reason}") for rule in ordered]


def effects(details: HeldDetails | None) -> list[str]:
    """Returns the same as `lines`, without a look at the disk."""
    rows = [_line(effect) for effect in details.effects] if details else []
    return [*rows, *([f"and {details.more} more"] if details and details.more else [])]


def _line(effect: HeldEffect, *facts: str) -> str:
    known = "; ".join(filter(None, facts))
    words = effect_words.text(effect.kind, effect.target, effect.flags)
    return printable.plain(f"{words}{f': {known}' if known else ''}")


class _Look:
    """One look at the disk for all effects of a call."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._left = MAX_ENTRIES
        self._end = time.monotonic() + SECONDS

    def describe(self, effect: HeldEffect) -> str:
        if effect.kind not in _ON_FILES or not effect.path.startswith("/"):
            return ""
        try:
            return self._described(effect.path)
        except (OSError, ValueError) as error:
            return f"cannot be read ({getattr(error, 'strerror', None) or 'a wrong path'})"

    def _described(self, path: str) -> str:
        matches = self._matches(path)
        files = size = 0
        newest = 0.0
        for match in matches:
            try:
                status = os.lstat(match)
            except FileNotFoundError:
                continue
            if stat.S_ISLNK(status.st_mode) and len(matches) == 1:
                return f"a link to {os.readlink(match)[:MAX_TARGET]}"  # noqa: PTH115 - no Path is made of a hostile name
            for entry in self._files(match, status):
                files, size, newest = files + 1, size + entry.st_size, max(newest, entry.st_mtime)
        if not files and not self._goes_on():
            return "not counted"
        if not files:
            return "empty" if any(os.path.isdir(match) for match in matches) else "nothing is there now"  # noqa: PTH112
        most = "" if self._goes_on() else "more than "
        count = f"{files:,} file{'' if files == 1 else 's'}, " if files > 1 or most else ""
        return f"{most}{count}{_size(size)}, changed {printable.duration(self._now - newest)} ago"

    def _matches(self, path: str) -> list[str]:
        """The paths that a wildcard in the last part means; a wildcard above it is not followed."""
        folder, _, last = path.rpartition("/")
        if not GLOB.search(last) or GLOB.search(folder):
            return [path]
        rows: list[str] = []
        with os.scandir(folder or "/") as entries:
            for entry in entries:
                self._left -= 1
                if not self._goes_on() or len(rows) == MAX_MATCHES:
                    break
                if fnmatchcase(entry.name, last) and (last.startswith(".") or not entry.name.startswith(".")):
                    rows.append(entry.path)
        return rows

    def _files(self, path: str, status: os.stat_result) -> Iterator[os.stat_result]:
        if not stat.S_ISDIR(status.st_mode):
            yield status
            return
        waiting = [path]
        while waiting and self._goes_on():
            try:
                with os.scandir(waiting.pop()) as entries:
                    for entry in entries:
                        self._left -= 1
                        if not self._goes_on():
                            return
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                        else:
                            yield entry.stat(follow_symlinks=False)
            except OSError:
                continue

    def _goes_on(self) -> bool:
        return self._left > 0 and time.monotonic() < self._end


def _size(count: float) -> str:
    unit = 0
    while count >= _UNIT and unit < len(_UNITS) - 1:
        count, unit = count / _UNIT, unit + 1
    return f"{count:.1f} {_UNITS[unit]}" if unit else f"{count:.0f} bytes"
