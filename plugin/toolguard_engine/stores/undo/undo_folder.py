"""The folder with all that can be undone: one folder for each call, with its description and the content of the files.

Nothing in it is synced: a power failure may lose the last entries, never the files of the person.
"""

from __future__ import annotations

import errno
import math
import os
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from toolguard_engine.stores import atomic, state_files
from toolguard_engine.stores.undo import undo_notes
from toolguard_engine.stores.undo.undo_entry import DESCRIPTION, ENTRIES, INCOMPLETE, MAX_ENTRY, UndoCause, UndoEntry
from toolguard_engine.stores.undo.undo_saving import UndoSaving
from toolguard_engine.stores.undo.undo_sizes import UndoSizes

UNFINISHED = "new-"
_ABANDONED_SECONDS = 600.0
_TRIES = 20
OF_ENTRY = 16_384
"""Bytes that the folder and the description of an entry take."""

LOOK_SECONDS = 600.0
"""Between two looks for the entries of other processes."""

AT_ONCE = 50
"""Entries that are read in one step."""


class UndoFolder:
    """`max_bytes`, `days`: how much `prune` leaves, and for how long. One entry takes half of it at most."""

    def __init__(self, state_dir: Path, max_bytes: float = math.inf, days: float = math.inf) -> None:
        self.path = atomic.own_folder(state_dir) / state_files.UNDO
        self._max_bytes = max_bytes
        self._seconds = days * 86_400.0
        self._sizes = UndoSizes()
        self._unread: list[str] = []
        self._looked = -math.inf

    def save(
        self,
        cause: UndoCause,
        fill: Callable[[UndoSaving], None],
        is_left_out: Callable[[str], bool],
        is_over: Callable[[], bool] = lambda: False,
    ) -> UndoEntry:
        """Makes an entry of what `fill` saves; one without paths is not kept. Raises `OSError`."""
        name, folder = self._new(cause.nonce)
        try:
            saving = UndoSaving(folder, self._max_bytes / 2, lambda path: self._is_own(path) or is_left_out(path), is_over)
            fill(saving)
            entry = UndoEntry(name, cause, saving.paths, saving.size, tuple(saving.left_out))
            if entry.paths:
                data = msgspec.json.encode(entry)
                if len(data) > MAX_ENTRY:
                    raise OSError(errno.EFBIG, "the names of what is changed are too long")
                atomic.replace(folder / DESCRIPTION, data, durable=False)
                if entry.left_out:
                    atomic.replace(folder / INCOMPLETE, b"", durable=False)
                folder.rename(self.path / name)
                self._sizes.add(name, cause.at, entry.size + OF_ENTRY)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return entry

    def _new(self, nonce: str) -> tuple[str, Path]:
        """The entry of a held call has its nonce as its name, so that nobody has to look for it."""
        atomic.make_folder(self.path)
        for attempt in range(_TRIES):
            name = nonce if not attempt and undo_notes.is_name(nonce) else secrets.token_hex(3)
            folder = self.path / f"{UNFINISHED}{name}"
            if not (self.path / name).exists():
                with suppress(FileExistsError):
                    folder.mkdir(mode=0o700)
                    atomic.belong_to_folder(folder)
                    return name, folder
        raise OSError(errno.EEXIST, "no free name", str(self.path))

    def remove(self, name: str) -> None:
        """Removes an entry. It is not listed from the first moment on."""
        gone = self.path / f"{UNFINISHED}{secrets.token_hex(8)}"
        with suppress(OSError):
            (self.path / name).rename(gone)
            shutil.rmtree(gone, ignore_errors=True)

    def _is_own(self, path: str) -> bool:
        return path == str(self.path) or path.startswith(f"{self.path}/")

    def entries(self) -> list[UndoEntry]:
        """All, the newest first. One that cannot be read is left out. Raises `OSError`."""
        listed = [entry for name in self._names() if (entry := self._entry(name)) is not None]
        return sorted(listed, key=lambda entry: entry.cause.at, reverse=True)

    def _entry(self, name: str) -> UndoEntry | None:
        with suppress(OSError, ValueError, msgspec.MsgspecError):
            return ENTRIES.decode(atomic.read_bounded(self.path / name / DESCRIPTION, MAX_ENTRY))
        return None

    def content(self, entry: UndoEntry, kept: str) -> Path:
        """Returns the path of a saved file. Raises `ValueError` if `kept` is not the name of one."""
        if not kept.isdecimal():
            raise ValueError(f"{entry.id}: {kept!r} is not a saved file")
        return self.path / entry.id / kept

    def prune(self, now: float) -> bool:
        """Removes what is too old, and the oldest of what is too much, but never the newest for that. False if it is to be
        called again, because not all entries are known yet: reading them takes long, and nothing is removed before.
        Raises `OSError`."""
        if not 0.0 <= now - self._looked < LOOK_SECONDS:
            self._look(now)
        for name in self._unread[-AT_ONCE:]:
            self._learn(name)
        del self._unread[-AT_ONCE:]
        while self._sizes and not self._unread:
            name, at = self._sizes.oldest()
            is_too_much = self._sizes.total > self._max_bytes and len(self._sizes) > 1
            if not is_too_much and now - at < self._seconds:
                break
            self.remove(name)
            self._sizes.drop_oldest()
        return not self._unread

    def _look(self, now: float) -> None:
        """Which entries there are: other processes make and remove some as well."""
        names = frozenset(os.listdir(self.path) if self.path.is_dir() else ())
        self._unread = list(names - self._sizes.keep(names))
        self._looked = now

    def _learn(self, name: str) -> None:
        """What a process that was killed left behind goes, and what nobody can read."""
        if not name.startswith(UNFINISHED) and (entry := self._entry(name)) is not None:
            self._sizes.add(name, entry.cause.at, entry.size + OF_ENTRY)
        elif _age(self.path / name) > _ABANDONED_SECONDS:
            shutil.rmtree(self.path / name, ignore_errors=True)

    def _names(self) -> list[str]:
        try:
            return [name for name in os.listdir(self.path) if not name.startswith(UNFINISHED)]
        except FileNotFoundError:
            return []


def _age(path: Path) -> float:
    """The age in seconds; 0 if it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0
