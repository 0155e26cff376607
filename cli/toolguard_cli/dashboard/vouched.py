"""Whether the gateway's own part of toolguard holds this dashboard.

A child of the gateway proves nothing: an agent's `exec` is one too. So the server asks whoever holds its standard input and
output to sign a new challenge with the key that signs approvals, before it serves and before it changes anything at another
gateway. `plugin/gateway/dashboard.mjs` answers.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from toolguard_cli import paths
from toolguard_cli.paths import Places
from toolguard_engine.stores import key
from toolguard_engine.stores.locked import StoreError

PURPOSE = b"toolguard dashboard "
LIMIT_SECONDS = 30.0
MAX_ANSWERS = 16
MAX_ANSWER = 200


class Voucher:
    """The one who holds this process by its standard input and output."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        """Set when standard input has ended."""
        self._answers: queue.Queue[str] = queue.Queue(MAX_ANSWERS)
        self._proven: set[Path] = set()
        self._one_at_a_time = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def speaks_for(self, places: Places) -> bool:
        """Whether it has the key of this gateway, and those of the others that these places could belong to."""
        with suppress(OSError, StoreError, ValueError):  # ValueError: a path that cannot be printed
            key.load(places.state_dir)
            usual = paths.find(None, None).state_dir
            return self._has_keys({places.state_dir, *filter(_has_key, (places.config.parent, usual))})
        return False

    def _has_keys(self, folders: Iterable[Path]) -> bool:
        with self._one_at_a_time:
            return all(self._has_key(folder) for folder in folders)

    def _has_key(self, folder: Path) -> bool:
        if folder in self._proven:
            return True
        known, challenge, path = key.known(folder), secrets.token_hex(32), str(key.path(folder))
        if "\n" in path:
            return False
        while not self._answers.empty():
            self._answers.get_nowait()
        print(f"challenge {challenge} {path}", flush=True)  # noqa: T201 - for whoever started it
        try:
            answer = self._answers.get(timeout=LIMIT_SECONDS)
        except queue.Empty:
            return False
        if key.fits(known, PURPOSE + challenge.encode(), answer):
            self._proven.add(folder)
        return folder in self._proven

    def _read(self) -> None:
        with suppress(OSError, queue.Full), os.fdopen(os.dup(0), "rb") as lines:
            while line := lines.readline(MAX_ANSWER):
                self._answers.put_nowait(line.decode(errors="replace").strip())
        with suppress(queue.Full):
            self._answers.put_nowait("")
        self.ended.set()


def _has_key(folder: Path) -> bool:
    return os.path.lexists(key.path(folder))
