"""What a power failure may leave of a folder: everything that was synced, and any part of the rest.

A file has the content of its last sync or its present one; a folder has the names of its last sync or its present ones. Each
combination is a state. They are collected at every sync, before and after it, as the power may fail at any moment.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from toolguard_engine.stores import system_calls

SECTOR = 512
State = tuple[tuple[str, bytes], ...]
"""The names in the folder, with what is in them."""


class FailingDisk:
    """Watches one folder, which survives as it is now."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._kept: list[int] = []
        """Open handles, so that no inode gets a second life."""
        self._contents: dict[int, bytes] = {}
        self._names: dict[str, int] = {}
        self.states: dict[State, int] = {}
        """With the number of changes that had been acknowledged by then."""
        self.acknowledged = 0
        for path in self._files():
            self._remember(os.open(path, os.O_RDONLY))
        self._names = self._present_names()
        for name in ("sync", "sync_content"):
            monkeypatch.setattr(system_calls, name, self._synced(getattr(system_calls, name)))

    def acknowledge(self) -> None:
        """Whoever asked for a change was told that it is done."""
        self.acknowledged += 1
        self._fail_now()

    def left(self, folder: Path) -> Iterator[tuple[Path, int]]:
        """Each state, laid out in a folder of its own, with the number of changes that must be in it."""
        for number, (state, acknowledged) in enumerate(self.states.items()):
            place = folder / str(number) / self._folder.name
            place.mkdir(parents=True)
            for name, content in state:
                (place / name).write_bytes(content)
                (place / name).chmod(0o600)
            yield place, acknowledged

    def _synced(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def sync(handle: int) -> None:
            self._fail_now()
            real(handle)
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                self._names = self._present_names()
            else:
                self._remember(os.dup(handle))
            self._fail_now()

        return sync

    def _fail_now(self) -> None:
        for names in (self._names, self._present_names()):
            choices = [[(name, content) for content in self._possible(inode)] for name, inode in sorted(names.items())]
            for state in product(*choices):
                self.states[state] = max(self.acknowledged, self.states.get(state, 0))

    def _possible(self, inode: int) -> list[bytes]:
        now = {path.stat().st_ino: path.read_bytes() for path in self._files()}
        kept = self._contents.get(inode, b"")
        return [kept] if now.get(inode, kept) == kept else [kept, now[inode]]

    def _remember(self, handle: int) -> None:
        self._kept.append(handle)
        self._contents[os.fstat(handle).st_ino] = Path(f"/proc/self/fd/{handle}").read_bytes()

    def _files(self) -> list[Path]:
        return [path for path in self._folder.iterdir() if path.is_file()]

    def _present_names(self) -> dict[str, int]:
        return {path.name: path.stat().st_ino for path in self._files()}


def left_of_log(database: Path, synced: int, folder: Path) -> Iterator[tuple[int, Path]]:
    """What may be left of the log of an SQLite database that was synced up to here: any number of sectors more, and all
    but one of them. With the number of bytes from its beginning that are whole, each laid out in a folder of its own."""
    log = database.with_name(f"{database.name}-wal")
    content = log.read_bytes()
    sectors = range(synced - synced % SECTOR + SECTOR, len(content), SECTOR)
    cut = [(end, content[:end]) for end in (synced, *sectors)]
    torn = [(at, content[:at] + bytes(SECTOR) + content[at + SECTOR :]) for at in sectors]
    for number, (whole, left) in enumerate([*cut, *torn, (len(content), content)]):
        place = folder / str(number) / database.parent.name
        place.mkdir(parents=True)
        shutil.copy2(database, place / database.name)
        (place / log.name).write_bytes(left)
        yield whole, place
