"""Checks that the gateway part of toolguard started this dashboard.

Being a child of the gateway proves nothing: an agent's `exec` is one too. So the server asks its parent process, over its
standard input and output, to sign a new challenge with the key that signs approvals: before it serves, and before it changes
another gateway. `plugin/gateway/dashboard.mjs` answers.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from toolguard_cli.system import paths
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import open as stores
from toolguard_engine.stores import signing_key
from toolguard_engine.stores.locked import StoreError

PURPOSE = b"toolguard dashboard "
LIMIT_SECONDS = 30.0
MAX_ANSWERS = 16
MAX_ANSWER = 200


class Voucher:
    """The process at the other end of standard input and output."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        """Set when standard input has ended."""
        self._answers: queue.Queue[str] = queue.Queue(MAX_ANSWERS)
        self._proven: set[Path] = set()
        self._one_at_a_time = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def speaks_for(self, places: Places) -> bool:
        """Whether it has the key of this gateway, and of other gateways that these places may belong to."""
        with suppress(OSError, StoreError, ValueError):  # ValueError: a path that cannot be printed
            stores.signing_key(places.state_dir).load()
            usual = paths.find(None, None).state_dir
            return self._has_keys({places.state_dir, *filter(_has_key, (places.config.parent, usual))})
        return False

    def _has_keys(self, folders: Iterable[Path]) -> bool:
        with self._one_at_a_time:
            return all(self._has_key(folder) for folder in folders)

    def _has_key(self, folder: Path) -> bool:
        if folder in self._proven:
            return True
        key, challenge = stores.signing_key(folder), secrets.token_hex(32)
        known, path = key.known(), str(key.path)
        if "\n" in path:
            return False
        while not self._answers.empty():
            self._answers.get_nowait()
        if self.ended.is_set():
            return False
        print(f"challenge {challenge} {path}", flush=True)  # noqa: T201 - for the parent process
        try:
            answer = self._answers.get(timeout=LIMIT_SECONDS)
        except queue.Empty:
            return False
        if signing_key.fits(known, PURPOSE + challenge.encode(), answer):
            self._proven.add(folder)
        return folder in self._proven

    def _read(self) -> None:
        with suppress(OSError, queue.Full), os.fdopen(os.dup(0), "rb") as lines:
            while line := lines.readline(MAX_ANSWER):
                self._answers.put_nowait(line.decode(errors="replace").strip())
        self.ended.set()  # before the last entry: whoever takes that one out sees it
        with suppress(queue.Full):
            self._answers.put_nowait("")


def _has_key(folder: Path) -> bool:
    return os.path.lexists(stores.signing_key(folder).path)
