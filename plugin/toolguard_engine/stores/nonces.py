"""Held calls on disk: one file with the whole ledger, every entry signed, every change made under the lock.

A change and its lines for the audit log belong together. The lines are written into the same file first (`outbox`), and
leave it only when the log has them; so a process that is killed anywhere loses none and doubles none.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from toolguard_engine.ledger import OPEN, Decision, Entry, Ledger, Status
from toolguard_engine.stores import audit, files, key
from toolguard_engine.stores.locked import LockedFile, StoreError

NAME = "nonces.json"
NONCE_BYTES = 4
MAX_FORGED_SHOWN = 200
MAX_OUTBOX = 5_000
_EVENTS: dict[Status, str] = {
    "pending": "hold",
    "approved": "approve",
    "denied": "deny",
    "used": "consume",
    "expired": "expire",
}

_TOLD = ("nonce", "tool", "agent", "session", "code", "shown")
_CLOSED: tuple[Status, ...] = ("used", "denied", "expired")

T = TypeVar("T")


@dataclass(frozen=True)
class Presented:
    """What became of a call that asks for a person. `outcome`: `used` (it may run, this once), `pending` or `denied`."""

    outcome: Status
    entry: Entry
    fresh: bool = False


class Nonces(Protocol):
    """What the guard, the command line and the dashboard need; a database could stand behind it. All raise `StoreError`."""

    def present(self, request: Entry, now: float) -> Presented:
        """A call asks: its approval is used up, or it waits under a nonce. `request` is the entry it would get."""

    def approve(self, prefix: str, decision: Decision, now: float, window: float, *, unseen: bool = False) -> Entry:
        """See `Ledger.approve`; raises `ledger.Refused` as well."""

    def deny(self, prefix: str, decision: Decision, now: float, lasts: float) -> Entry:
        """See `Ledger.deny`; raises `ledger.Refused` as well."""

    def lapse(self, means: Callable[[Entry], bool], decision: Decision, now: float) -> list[Entry]:
        """See `Ledger.lapse`."""

    def settle(self, nonce: str, status: Status, decision: Decision, now: float) -> Entry | None:
        """See `Ledger.settle`."""

    def entries(self) -> list[Entry]:
        """All entries that can be trusted, the oldest first. Others are taken out and reported to the audit log."""

    def sweep(self, now: float) -> None:
        """Closes what is over, and brings the audit log up to date; raises `Busy` at once where somebody else is at it."""


class _File(msgspec.Struct):
    """`mac` is of the outbox: a line that somebody else put there must not reach the audit log."""

    v: int = 1
    entries: list[Entry] = []
    outbox: list[audit.Event] = []
    mac: str = ""


class FileNonces:
    """`Nonces` in a file. `path` is `<state dir>/toolguard/nonces.json` unless the settings name another."""

    def __init__(self, state_dir: Path, path: Path | None = None, gateway: str = "") -> None:
        self.path = path or files.own_folder(state_dir) / NAME
        self._state_dir = state_dir
        self._gateway = gateway
        self._file = LockedFile(self.path, _File)
        self._audit = audit.AuditLog(state_dir)
        self._logged: set[str] = set()

    def present(self, request: Entry, now: float) -> Presented:
        def work(ledger: Ledger) -> Presented:
            known = ledger.waiting(request.binding, now)
            if known is None:
                return Presented("pending", ledger.enter(self._named(request, ledger)), fresh=True)
            if known.status == "approved":
                return Presented("used", ledger.use(known, now))
            return Presented(known.status, known)

        return self._change(work, now)

    def approve(self, prefix: str, decision: Decision, now: float, window: float, *, unseen: bool = False) -> Entry:
        return self._change(lambda ledger: ledger.approve(prefix, decision, now, window, unseen=unseen), now)

    def deny(self, prefix: str, decision: Decision, now: float, lasts: float) -> Entry:
        return self._change(lambda ledger: ledger.deny(prefix, decision, now, lasts), now)

    def lapse(self, means: Callable[[Entry], bool], decision: Decision, now: float) -> list[Entry]:
        return self._change(lambda ledger: ledger.lapse(means, decision, now), now) if self.path.exists() else []

    def settle(self, nonce: str, status: Status, decision: Decision, now: float) -> Entry | None:
        return self._change(lambda ledger: ledger.settle(nonce, status, decision, now), now)

    def entries(self) -> list[Entry]:
        signed = self._file.read().entries
        if not signed:
            return []
        own = self._key(signed)
        trusted = [entry for entry in signed if _trusted(own, entry)]
        if len(trusted) < len(signed):
            self._change(Ledger.check, time.time())
        return sorted(trusted, key=lambda entry: entry.created)

    def look(self) -> tuple[list[Entry], list[Entry]]:
        """The entries that can be trusted, and the others; nothing is changed. Raises `StoreError`."""
        signed = self._file.read(keep_aside=False).entries
        if not signed:
            return [], []
        own = self._key(signed)
        return [entry for entry in signed if _trusted(own, entry)], [entry for entry in signed if not _trusted(own, entry)]

    def sweep(self, now: float) -> None:
        if self.path.exists():
            self._change(lambda ledger: None, now, patient=False)  # noqa: ARG005

    def _change(self, work: Callable[[Ledger], T], now: float, *, patient: bool = True) -> T:
        """Runs `work` on the ledger as it is now, and makes what it did last. An error of `work` still keeps the rest."""
        with self._file.locked(patient=patient):
            stored = self._file.read()
            own = self._key(stored.entries)
            ledger = Ledger(stored.entries, partial(self._trusted_now, own, closed={}))
            ledger.sweep(now)
            try:
                return work(ledger)
            finally:
                self._keep(own, stored, ledger, now)

    def _key(self, signed: list[Entry]) -> bytes:
        """The key; never a new one where an old one has signed something. Raises `StoreError`."""
        place = key.path(self._state_dir)
        if signed and not place.exists():
            raise key.BadKey(f"{place} is missing, though it has signed {len(signed)} calls; restore it from a backup")
        return key.load(self._state_dir)

    def _keep(self, own: bytes, stored: _File, ledger: Ledger, now: float) -> None:
        left = self._not_logged(stored.outbox)
        forged = [self._forged(entry, now) for entry in ledger.forged]
        if stored.outbox and not key.fits(own, msgspec.json.encode(stored.outbox), stored.mac):
            left, forged = [], [*forged, self._forged_outbox(stored.outbox, now)]
        events = [*left, *forged, *(self._event(entry) for entry in ledger.changed)]
        if ledger.changed or ledger.dropped or forged:
            changed = {entry.nonce: _signed(own, entry) for entry in ledger.changed}
            entries = [changed.get(entry.nonce, entry) for entry in ledger.entries]
            outbox = events[-MAX_OUTBOX:]
            mac = key.sign(own, msgspec.json.encode(outbox)) if outbox else ""
            self._file.write(_File(entries=entries, outbox=outbox, mac=mac))
        if events:
            self._log(events)

    def _trusted_now(self, own: bytes, entry: Entry, closed: dict[float, set[str]]) -> bool:
        """Signed by us, and not the copy of a state that the audit log knows to be over.

        `closed` keeps what was read of the log: the ids of all events since a time.
        """
        if not _trusted(own, entry):
            return False
        if entry.status not in OPEN:
            return True
        ids = next((found for since, found in closed.items() if since <= entry.created), None)
        if ids is None:
            ids = closed[entry.created] = self._audit.ids_since(entry.created)
        return ids.isdisjoint(f"{entry.nonce}-{_EVENTS[status]}" for status in _CLOSED)

    def _log(self, events: list[audit.Event]) -> None:
        """What cannot be written now stays in the outbox; a verdict must not wait for a full disk."""
        try:
            self._audit.append(events)
        except StoreError:
            return
        self._logged = {event.id for event in events}

    def _not_logged(self, outbox: list[audit.Event]) -> list[audit.Event]:
        unsure = [event for event in outbox if event.id not in self._logged]
        try:
            known = self._audit.known([event.id for event in unsure]) if unsure else set()
        except OSError:
            known = set()
        return [event for event in unsure if event.id not in known]

    def _named(self, request: Entry, ledger: Ledger) -> Entry:
        taken = {entry.nonce for entry in ledger.entries}
        nonce = secrets.token_hex(NONCE_BYTES)
        while nonce in taken:
            nonce = secrets.token_hex(NONCE_BYTES)
        return msgspec.structs.replace(request, nonce=nonce)

    def _event(self, entry: Entry) -> audit.Event:
        at = entry.decided or entry.created
        return self._line(entry, _EVENTS[entry.status], at)

    def _forged(self, entry: Entry, now: float) -> audit.Event:
        """Only what says which entry it was: the rest was written by somebody who wants it read."""
        told = {name: audit.plain(getattr(entry, name), MAX_FORGED_SHOWN) for name in _TOLD}
        why = "not signed with our key, or put back after it was closed"
        return audit.Event(
            id=f"{told['nonce']}-forged", time=audit.when(now), event="forged", why=why, gateway=self._gateway, **told
        )

    def _forged_outbox(self, outbox: list[audit.Event], now: float) -> audit.Event:
        name = sha256(msgspec.json.encode(outbox)).hexdigest()[:16]
        why = f"{len(outbox)} lines that waited for the audit log are not signed with our key"
        return audit.Event(id=f"outbox-{name}-forged", time=audit.when(now), event="forged", why=why, gateway=self._gateway)

    def _line(self, entry: Entry, event: str, at: float) -> audit.Event:
        return audit.Event(
            id=f"{entry.nonce}-{event}",
            time=audit.when(at),
            event=event,
            code=entry.code,
            nonce=entry.nonce,
            tool=entry.tool,
            agent=entry.agent,
            session=entry.session,
            run=entry.run,
            by=entry.by,
            where=entry.where,
            why=entry.why,
            reason=entry.reason,
            shown=entry.shown,
            gateway=self._gateway,
        )


def _signed(own: bytes, entry: Entry) -> Entry:
    bare = msgspec.structs.replace(entry, mac="")
    return msgspec.structs.replace(bare, mac=key.sign(own, msgspec.json.encode(bare)))


def _trusted(own: bytes, entry: Entry) -> bool:
    return key.fits(own, msgspec.json.encode(msgspec.structs.replace(entry, mac="")), entry.mac)
