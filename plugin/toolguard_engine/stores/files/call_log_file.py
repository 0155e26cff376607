"""The log of malformed calls: one JSON line each, with the model that made it.

Lines are appended with one `write` each, so that several gateways can share the file. At `MAX_BYTES` the file becomes
`<name>.1` and a new one begins.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine.stores.call_log import MAX_BYTES
from toolguard_engine.stores.locked import StoreError, lock


class CallLog:
    """The log file. `append` never raises; it returns an error once per cause."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last_error = ""

    def append(self, line: dict[str, Any]) -> str:
        """Writes one line. Returns why it could not be written if that is news, else an empty text."""
        try:
            self._write(msgspec.json.encode(line) + b"\n")
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            reason = f"cannot write {self.path}: {getattr(error, 'strerror', None) or error}"
            news = "" if reason == self._last_error else reason
            self._last_error = reason
            return news
        self._last_error = ""
        return ""

    def _write(self, data: bytes) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = _open(self.path)
        try:
            if os.fstat(handle).st_size + len(data) > MAX_BYTES:
                self._turn_over(handle)
                os.close(handle)
                handle = _open(self.path)
            os.write(handle, data)
        finally:
            os.close(handle)

    def _turn_over(self, full: int) -> None:
        """Only one of several gateways moves a full file away; while it does, the others go on where they are."""
        with suppress(StoreError, FileNotFoundError), lock(self.path, patient=False):
            if os.path.samestat(self.path.stat(), os.fstat(full)):
                self.path.replace(self.path.with_name(f"{self.path.name}.1"))


def _open(path: Path) -> int:
    """Opens for appending without blocking: a FIFO without a reader would hang the engine."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
