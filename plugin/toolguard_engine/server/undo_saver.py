"""Saves what a call is about to change, for `toolguard undo`.

A thread does it, because a disk may be slow. The loop waits for it at most `WAIT` seconds, which is long enough for what
people have in one folder; then the call runs, and what is not saved by then is not saved. While the thread still works on an
earlier call, nothing is waited for at all.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue

from msgspec import Struct

from toolguard_engine.config.undo_settings import UndoConfig
from toolguard_engine.effects.calls.replaced_content import ReplacedContent
from toolguard_engine.effects.facts.place_names import is_secret_name
from toolguard_engine.effects.facts.places import Where, place
from toolguard_engine.model.call import Call
from toolguard_engine.server import git_index, uncommitted_work
from toolguard_engine.stores import atomic
from toolguard_engine.stores.undo.undo_entry import UndoCause, UndoEntry
from toolguard_engine.stores.undo.undo_folder import UndoFolder

WAIT = 0.05
PAUSE = 0.2
"""Seconds between two steps in which the thread finds out what was saved before it began, if nothing else is to be done."""
MAX_LOOKED_UP = 20
"""Files that are looked up in the index of Git, which may be large."""

_NEVER = frozenset({"credentials", "artefact", "device", "null"})
BUSY = "the files of an earlier call are still being saved"
LATE = f"saving it took longer than {WAIT * 1000:.0f} ms"


class Saved(Struct, frozen=True):
    """`name`: of the entry, empty if nothing was saved; `why`: what is missing, empty if nothing is."""

    name: str = ""
    why: str = ""


NOTHING_SAVED = Saved()


class _Job(Struct, eq=False):
    cause: UndoCause
    changes: tuple[ReplacedContent, ...]
    done: threading.Event
    is_over: bool = False
    entry: UndoEntry | None = None
    error: str = ""


class UndoSaver:
    """`wait`: for how long a call waits."""

    def __init__(self, wait: float = WAIT) -> None:
        self._wait = wait
        self._folder: UndoFolder | None = None
        self._state_dir = Path()
        self._home = ""
        self._jobs: SimpleQueue[_Job | UndoFolder] = SimpleQueue()
        self._unpruned: UndoFolder | None = None
        self._thread: threading.Thread | None = None
        self._last: _Job | None = None

    def begin(self, state_dir: Path, config: UndoConfig, home: str) -> None:
        """Saves into this state directory from now on, unless the settings switch it off."""
        folder = UndoFolder(state_dir, config.max_megabytes * 1_000_000, config.days)
        self._folder = folder if config.enabled else None
        self._state_dir, self._home = state_dir, home
        self._tidy(folder)

    def _tidy(self, folder: UndoFolder) -> None:
        """Removes what is too old, also where nothing more is saved."""
        if self._has_thread():
            self._jobs.put(folder)

    @property
    def is_on(self) -> bool:
        return self._folder is not None

    def before(self, call: Call, shown: Callable[[], str], changes: tuple[ReplacedContent, ...], nonce: str = "") -> Saved:
        """Saves what the changes of a call would replace, before the call runs. `nonce`: if it was held before."""
        if self._folder is None or not changes:
            return NOTHING_SAVED
        if self._last is not None and not self._last.done.is_set():
            return Saved(why=BUSY)
        cause = UndoCause(call.at, call.tool, shown(), call.agent, call.session, call.call_id, nonce)
        job = self._last = _Job(cause, changes, threading.Event())
        if not self._has_thread():
            job.done.set()
            return Saved(why="no thread could be started to save it")
        self._jobs.put(job)
        if not job.done.wait(self._wait):
            job.is_over = True
            return Saved(why=LATE)
        if job.entry is None:
            return Saved(why=job.error)
        return Saved(job.entry.id if job.entry.paths else "", "; ".join(job.entry.left_out))

    def _has_thread(self) -> bool:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="undo", daemon=True)
            try:
                thread.start()
            except (RuntimeError, MemoryError):
                return False
            self._thread = thread
        return True

    def _run(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=None if self._unpruned is None else PAUSE)
            except Empty:
                self._prune(time.time())
                continue
            if isinstance(job, UndoFolder):
                self._unpruned = job
                continue
            folder = self._folder
            try:
                if folder is not None:
                    job.entry = self._saved(job, folder)
            except Exception as error:  # noqa: BLE001 - the loop says it; the thread goes on
                job.error = f"it could not be saved: {error}"
            finally:
                job.done.set()
            if folder is not None and self._jobs.empty():
                self._unpruned = folder
                self._prune(job.cause.at)

    def _prune(self, now: float) -> None:
        with suppress(OSError):  # tried again with the next call
            if self._unpruned is None or not self._unpruned.prune(now):
                return
        self._unpruned = None

    def _saved(self, job: _Job, folder: UndoFolder) -> UndoEntry:
        changes, unread = _meant(job.changes)
        if len(changes) <= MAX_LOOKED_UP and all(change.way == "replaced" for change in changes):
            changes = tuple(change for change in changes if not git_index.is_committed(change.path))
        state = os.path.realpath(self._state_dir)
        where, own = Where(os.path.realpath(self._home), state_dir=state), str(atomic.own_folder(Path(state)))
        is_left_out = partial(_is_left_out, where, own)
        return folder.save(job.cause, lambda saving: saving.save(changes, unread), is_left_out, lambda: job.is_over)


def _meant(changes: tuple[ReplacedContent, ...]) -> tuple[tuple[ReplacedContent, ...], tuple[str, ...]]:
    """The changes, with the files that Git discards in place of their folders; and why some of those are not known."""
    known: dict[ReplacedContent, None] = {}
    unread: list[str] = []
    for change in changes:
        try:
            for lost in uncommitted_work.meant(change):  # those before an error, too
                known[lost] = None
        except (uncommitted_work.UnreadIndexError, OSError) as error:
            unread.append(str(error))
    return tuple(known), tuple(unread)


def _is_left_out(where: Where, own: str, path: str) -> bool:
    """Credentials, the guard's own files, and what can be built again. `path`: no link is on the way to it."""
    if path == own or path.startswith(f"{own}/") or is_secret_name(path.rpartition("/")[2]):
        return True
    return place(path, where) in _NEVER
