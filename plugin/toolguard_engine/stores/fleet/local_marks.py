"""Which approvals of the fleet were used here: a line is on disk before the call runs, so that a database that was rolled
back, or changed by its owner, lets no call run twice. `<state dir>/toolguard/fleet-used`.

A line is `NONCE ATTEMPT`, with `-` in front if that call did not run and the approval was given back. Only lines of the form
that we write count, so half a line of a killed process marks nothing; its call did not run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolguard_engine import lazy_re
from toolguard_engine.stores import atomic, disk
from toolguard_engine.stores.locked import StoreError, lock, unusable
from toolguard_engine.stores.state_files import FLEET_USED as NAME

MAX_MARKS = 50_000
"""The oldest of more are dropped when the file is opened."""

MAX_BYTES = 64 * 1024 * 1024
_LINE = lazy_re.compile(r"^(-?)([0-9a-f]{8,64}) ([0-9a-f]{32})$", re.MULTILINE)


class UsedBeforeError(StoreError):
    """The approval was used here before, by another attempt."""

    code = "approval.used-before"


class LocalMarks:
    """The marks of one state directory, also of other processes that use it. Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self._marks: dict[str, str] = {}
        self._own: dict[str, str] = {}
        """What this process has marked: it counts also if the file is removed or cut."""
        self._seen: tuple[int, int] | None = None
        """The file and its size, as `_marks` has it."""

    def use(self, nonce: str, attempt: bytes) -> None:
        """Returns when the mark is on disk. Raises `UsedBeforeError`."""
        with self._opened() as handle:
            if (before := self._marks.get(nonce)) is None:
                self._append(handle, f"{nonce} {attempt.hex()}\n")
                self._marks[nonce] = self._own[nonce] = attempt.hex()
            elif before != attempt.hex():
                raise UsedBeforeError("it was used on this machine before")

    def used(self, nonces: Iterable[str]) -> set[str]:
        """The approvals among these that were used here."""
        with self._opened():
            return {nonce for nonce in nonces if nonce in self._marks}

    def give_back(self, nonce: str, attempt: bytes) -> None:
        """Another attempt may use it. To be called when the database has taken it back."""
        with self._opened() as handle:
            if self._marks.get(nonce) == attempt.hex():
                self._append(handle, f"-{nonce} {attempt.hex()}\n")
                del self._marks[nonce]
                self._own.pop(nonce, None)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The file, locked, with `_marks` as it is now: another engine may have added some since."""
        try:
            with lock(self.path):
                if not atomic.is_there(self.path):
                    atomic.create(self.path, b"")
                if self._seen != _state(disk.look(self.path)) or len(self._marks) > 2 * MAX_MARKS:
                    self._load()
                    self._seen = _state(disk.look(self.path))
                handle = disk.open_file(self.path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
                try:
                    yield handle
                    self._seen = _state(disk.status(handle))
                finally:
                    disk.close(handle)
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error

    def _load(self) -> None:
        marks: dict[str, str] = {}
        for sign, nonce, attempt in _LINE.findall(atomic.read_bounded(self.path, MAX_BYTES).decode("ascii", "replace")):
            if not sign:
                marks[nonce] = attempt
            elif marks.get(nonce) == attempt:
                del marks[nonce]
        if len(marks) > MAX_MARKS:
            marks = dict(list(marks.items())[-MAX_MARKS:])
            atomic.replace(self.path, "".join(f"{nonce} {attempt}\n" for nonce, attempt in marks.items()).encode())
        while len(self._own) > MAX_MARKS:
            self._own.pop(next(iter(self._own)))
        self._marks = marks | self._own

    def _append(self, handle: int, line: str) -> None:
        size = disk.status(handle).st_size
        torn = size > 0 and disk.read_at(handle, 1, size - 1) != b"\n"
        data = (b"\n" if torn else b"") + line.encode()
        self._seen = None  # until all of it is on disk, nothing is known of the file
        if disk.write(handle, data) != len(data):
            raise StoreError(f"{self.path}: the disk is full")
        try:
            disk.sync(handle)
        except OSError as error:
            raise atomic.unconfirmed(self.path, error) from error


def _state(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_ino, stat.st_size
