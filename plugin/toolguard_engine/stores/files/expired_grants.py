"""Which grants were seen expired: `<state dir>/toolguard/expired-grants`, a line with the signature of each.

A grant that was seen expired does not apply again when the clock is set back. Only grants that are still in the policy are
listed, so the file is no longer than that. A lost or damaged file makes no grant apply that the clock says has expired.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from toolguard_engine import lazy_re
from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import StoreError, clear_leftovers, lock
from toolguard_engine.stores.state_files import EXPIRED_GRANTS as NAME
from toolguard_engine.stores.toml_file import Stamp, stamp_of

MAX_BYTES = 2 * 1024 * 1024
_LINE = lazy_re.compile(r"[0-9a-f]{64}")


class ExpiredGrants:
    """Those of one state directory. The file is read again when it has changed."""

    def __init__(self, state_dir: Path) -> None:
        self._path = atomic.own_folder(state_dir) / NAME
        self._stamp: Stamp | None = None
        self._stored: frozenset[str] = frozenset()
        self._noted: set[str] = set()
        """Also those that cannot be written."""

    def known(self) -> Collection[str]:
        """Signatures. Never raises."""
        try:
            stamp = stamp_of(self._path)
            if stamp != self._stamp:
                self._stored, self._stamp = self._read(), stamp
        except (OSError, ValueError, StoreError):
            pass  # what was read before counts
        return self._stored | self._noted

    def note(self, macs: Iterable[str]) -> None:
        """These have expired; for this object at once."""
        self._noted.update(macs)

    def write(self, granted: Collection[str]) -> None:
        """Writes what was noted, and drops those that are no longer `granted`. Raises `StoreError`, `Busy` at once."""
        self._noted.intersection_update(granted)
        if self._noted <= self._stored:
            return
        with lock(self._path, patient=False):
            kept = (self._read() | self._noted).intersection(granted)
            try:
                clear_leftovers(self._path)
                atomic.replace(self._path, "".join(f"{mac}\n" for mac in sorted(kept)).encode())
            except (OSError, ValueError) as error:
                raise StoreError(f"{self._path}: {error}") from error
        self._stored, self._stamp = frozenset(kept), stamp_of(self._path)

    def _read(self) -> frozenset[str]:
        try:
            data = atomic.read_bounded(self._path, MAX_BYTES)
        except (OSError, ValueError):
            return frozenset()
        return frozenset(_LINE.findall(data.decode(errors="replace")))
