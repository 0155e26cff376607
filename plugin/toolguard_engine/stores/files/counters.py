"""What the guard counted in each run, for an engine that restarts during one.

Held in memory and written at most a second later, never while a call waits. Losing it makes the guard more tolerant of one
run; it never lets a held call through.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine.model.call import Run
from toolguard_engine.model.history import Past
from toolguard_engine.model.run_counters import CounterSet
from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import LockedFile
from toolguard_engine.stores.state_files import COUNTERS as NAME

KEPT_SECONDS = 3_600.0
MAX_RUNS = 500


class _Saved(msgspec.Struct):
    """`run`: plain values. The counters of detectors are members of its `past`, as they were when they had one struct."""

    at: float
    run: dict[str, Any]


class _File(msgspec.Struct):
    v: int = 1
    runs: dict[str, _Saved] = {}


class Counters:
    """All runs of the engines of one state directory. Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self._file = LockedFile(atomic.own_folder(state_dir) / NAME, _File)

    def load(self) -> dict[str, Run]:
        try:
            return {name: from_plain(saved.run) for name, saved in self._fresh(self._file.read()).items()}
        except msgspec.ValidationError as error:
            raise self._file.damaged(keep_aside=True) from error

    def look(self) -> None:
        """Raises `Damaged` if the file is. Changes nothing."""
        self._file.read(keep_aside=False)

    def save(self, changed: Mapping[str, Run | None]) -> None:
        """Merges these runs in; None removes one. Raises `Busy` at once if another process writes."""
        with self._file.locked(patient=False):
            runs = self._fresh(self._file.read())
            for name, run in changed.items():
                if run is None:
                    runs.pop(name, None)
                else:
                    runs[name] = _Saved(time.time(), to_plain(run))
            newest = sorted(runs.items(), key=lambda item: item[1].at)[-MAX_RUNS:]
            self._file.write(_File(runs=dict(newest)), durable=False)

    def _fresh(self, stored: _File) -> dict[str, _Saved]:
        oldest = time.time() - KEPT_SECONDS
        return {name: saved for name, saved in stored.runs.items() if saved.at >= oldest}


def to_plain(run: Run) -> dict[str, Any]:
    """A run as plain values, as it is stored."""
    plain: dict[str, Any] = msgspec.to_builtins(run, str_keys=True, enc_hook=CounterSet.stored)
    plain["past"] |= plain.pop("counters")
    return plain


def from_plain(stored: dict[str, Any]) -> Run:
    """Raises `msgspec.ValidationError`."""
    past = stored.get("past")
    known = past if isinstance(past, dict) else {}
    more = {name: value for name, value in known.items() if name not in Past.__struct_fields__}
    return msgspec.convert({**stored, "counters": more}, Run, str_keys=True, dec_hook=lambda _, value: CounterSet(value))
