"""What a held call would do, with what is there now: how many files, how large, changed when. Read when a person is shown
the call, never when it is judged. This opens nothing and follows no link, and the walk is bounded in entries and time."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from toolguard_engine.approvals import held_view
from toolguard_engine.approvals.held_view import HeldView
from toolguard_engine.approvals.ledger import HeldCall
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
FactsOfRules = Callable[[HeldCall], Mapping[str, str]]


def views(
    entries: Iterable[HeldCall], now: float, more: Facts | None = None, of_rules: FactsOfRules | None = None
) -> list[HeldView]:
    """The calls as a person sees them, with what is there now, within the bounds for one. `now`: seconds since 1970; `more`:
    what else is known of an effect, empty for nothing; `of_rules`: of what rules are about, by their ids."""
    look = _Look(now)
    return [
        held_view.view(entry, held_view.Facts(tuple(_facts(entry.details, look, more)), of_rules(entry) if of_rules else {}))
        for entry in entries
    ]


def facts(details: HeldDetails | None, now: float, more: Facts | None = None) -> list[str]:
    """What is there now, for each effect; empty where nothing is known."""
    return _facts(details, _Look(now), more)


def _facts(details: HeldDetails | None, look: _Look, more: Facts | None) -> list[str]:
    effects = details.effects if details else ()
    known = [(look.describe(effect), more(effect) if more else "") for effect in effects]
    return [printable.plain("; ".join(filter(None, texts))) for texts in known]


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
