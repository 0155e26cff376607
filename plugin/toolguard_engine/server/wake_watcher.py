"""Watches the book of held calls for what other processes decide: an approval wakes the agent that waits for it.

The file is looked at only while calls of this gateway wait, and read only when it has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from toolguard_engine.approvals.ledger import LAPSED, OPEN, HeldCall
from toolguard_engine.stores.locked import Busy, Damaged, StoreError
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.wire import messages
from toolguard_engine.wording import approval

MAX_WOKEN = 5_000


class Wakes:
    """`poll` answers with the agents to wake, if that is wanted. `clock`: seconds since 1970."""

    def __init__(self, path: Path, nonces: HeldCallStore, clock: Callable[[], float], *, wake: bool) -> None:
        self._path = path
        self._nonces = nonces
        self._clock = clock
        self._wanted = wake
        self._seen: tuple[int, int, int] | None = None
        self._open: list[HeldCall] = []
        self._woken: dict[str, int] = {}  # how often; who does not use a yes is not woken for it for ever
        self.trouble = ""

    @property
    def watching(self) -> bool:
        """Whether anything waits that a person may decide on."""
        return bool(self._open) or self._seen is None

    def look(self) -> None:
        """A call was held just now: look again at the next poll."""
        self._seen = None

    def poll(self) -> list[messages.Wake]:
        """Wakes for what was approved since the last time; closes what is over. Never raises."""
        try:
            return self._poll()
        except Busy:  # soon it is not: what a person may still decide on is waited for
            now = self._clock()
            self._open = [entry for entry in self._open if now < entry.expires]
            return []
        except StoreError as error:
            self.trouble = str(error) if isinstance(error, Damaged) else ""  # others are told when a call needs the store
            self._open = []
            return []

    def _poll(self) -> list[messages.Wake]:
        now = self._clock()
        if any(now >= entry.expires for entry in self._open):
            self._nonces.sweep(now)
        if not self._changed():
            return []
        waited = {entry.nonce for entry in self._open if entry.status == "pending"}
        entries = self._nonces.entries()
        self._open = [entry for entry in entries if entry.status in OPEN]
        self.trouble = ""
        approved = [entry for entry in self._open if entry.status == "approved" and not self._woken.get(entry.nonce)]
        lapsed = {entry.session: entry for entry in entries if entry.nonce in waited and entry.why == LAPSED}
        woken = {entry.session for entry in approved}
        wakes = [self._wake(entry, now) for entry in approved]
        wakes += [_go_on(entry) for session, entry in lapsed.items() if session not in woken]
        return wakes if self._wanted else []

    def ended(self, session: str) -> list[messages.Wake]:
        """A run of this session is over: whoever was busy when its call was approved is told now, if it still waits."""
        known = [entry for entry in self._open if entry.session == session and self._woken.get(entry.nonce) == 1]
        if not known:
            return []
        for entry in known:
            self._woken[entry.nonce] = 0
        self._seen = None
        return self.poll()

    def _wake(self, entry: HeldCall, now: float) -> messages.Wake:
        self._woken[entry.nonce] = 2 if entry.nonce in self._woken else 1
        while len(self._woken) > MAX_WOKEN:
            self._woken.pop(next(iter(self._woken)))
        text = approval.approved(entry.nonce, max(1, int(entry.expires - now)), entry.shown)
        return messages.Wake(entry.nonce, entry.agent, entry.session, text)

    def _changed(self) -> bool:
        try:
            found = self._path.stat()
        except (OSError, ValueError):  # ValueError: a NUL in the path
            now = (0, 0, 0)
        else:
            now = (found.st_ino, found.st_mtime_ns, found.st_size)
        changed, self._seen = now != self._seen, now
        return changed


def _go_on(entry: HeldCall) -> messages.Wake:
    return messages.Wake(entry.nonce, entry.agent, entry.session, approval.go_on(entry.nonce, entry.shown))
