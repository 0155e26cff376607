"""Which approvals of the fleet were used here: a line is on disk before the call runs, so that a database that was rolled
back, or changed by its owner, lets no call run twice. `<state dir>/toolguard/fleet-used`.

A line is `NONCE ATTEMPT`, with `-` in front if that call did not run and the approval was given back. Only lines of the form
that we write count, so half a line of a killed process marks nothing; its call did not run.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from toolguard_engine.stores import atomic, system_calls
from toolguard_engine.stores.locked import StoreError, lock, unusable
from toolguard_engine.stores.state_files import FLEET_USED as NAME

MAX_MARKS = 50_000
"""The oldest of more are dropped when the file is opened."""

MAX_BYTES = 64 * 1024 * 1024
_LINE = re.compile(r"^(-?)([0-9a-f]{8,64}) ([0-9a-f]{32})$", re.MULTILINE)


class UsedBeforeError(StoreError):
    """The approval was used here before, by another attempt."""

    code = "approval.used-before"


class LocalMarks:
    """The marks of one state directory. Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self._marks: dict[str, str] | None = None

    def use(self, nonce: str, attempt: bytes) -> None:
        """Returns when the mark is on disk. Raises `UsedBeforeError`."""
        marks = self._known()
        if len(marks) > 2 * MAX_MARKS:
            marks = self._marks = self._load()
        if (before := marks.get(nonce)) is not None:
            if before == attempt.hex():
                return
            raise UsedBeforeError("it was used on this machine before")
        self._append(f"{nonce} {attempt.hex()}\n")
        marks[nonce] = attempt.hex()

    def give_back(self, nonce: str, attempt: bytes) -> None:
        """Another attempt may use it. To be called when the database has taken it back."""
        if self._known().get(nonce) == attempt.hex():
            self._append(f"-{nonce} {attempt.hex()}\n")
            self._known().pop(nonce)

    def _known(self) -> dict[str, str]:
        if self._marks is None:
            self._marks = self._load()
        return self._marks

    def _load(self) -> dict[str, str]:
        try:
            with lock(self.path):
                text = atomic.read_bounded(self.path, MAX_BYTES).decode("ascii", "replace")
                marks: dict[str, str] = {}
                for sign, nonce, attempt in _LINE.findall(text):
                    if not sign:
                        marks[nonce] = attempt
                    elif marks.get(nonce) == attempt:
                        del marks[nonce]
                if len(marks) > MAX_MARKS:
                    marks = dict(list(marks.items())[-MAX_MARKS:])
                    lines = "".join(f"{nonce} {attempt}\n" for nonce, attempt in marks.items())
                    atomic.replace(self.path, lines.encode())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error
        return marks

    def _append(self, line: str) -> None:
        try:
            with lock(self.path):
                if not self.path.exists():
                    atomic.create(self.path, b"")
                handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
                try:
                    size = os.fstat(handle).st_size
                    torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
                    data = (b"\n" if torn else b"") + line.encode()
                    if os.write(handle, data) != len(data):
                        raise StoreError(f"{self.path}: the disk is full")
                    system_calls.sync(handle)
                finally:
                    os.close(handle)
        except OSError as error:
            raise unusable(self.path, error) from error
