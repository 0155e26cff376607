"""Held calls on disk: one file with the whole ledger, every entry signed, every change made under the lock.

A change and its audit lines are stored together: the lines are written into the same file (`outbox`) and removed when the
log has them. A process that is killed at any point neither loses nor duplicates a line.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from toolguard_engine.approvals.ledger import OPEN, Decision, HeldCall, Ledger, Status
from toolguard_engine.stores import atomic, audit_log, signing_key
from toolguard_engine.stores.files import signing_key_file
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.locked import LockedFile, StoreError
from toolguard_engine.stores.state_files import HELD_CALLS as NAME
from toolguard_engine.stores.values import Presented

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

_SHOWN_FIELDS = ("nonce", "tool", "agent", "session", "code", "shown")
_CLOSED: tuple[Status, ...] = ("used", "denied", "expired")

T = TypeVar("T")


class _File(msgspec.Struct):
    """`mac` signs the outbox: a line that another program put there must not reach the audit log."""

    v: int = 1
    entries: list[HeldCall] = []
    outbox: list[audit_log.AuditEvent] = []
    mac: str = ""


class FileNonces:
    """`HeldCallStore` in a file. `path` is `<state dir>/toolguard/nonces.json` unless the settings name another."""

    def __init__(self, state_dir: Path, path: Path | None = None, gateway: str = "") -> None:
        self.path = path or atomic.own_folder(state_dir) / NAME
        self._state_dir = state_dir
        self._gateway = gateway
        self._file = LockedFile(self.path, _File)
        self._audit = AuditLog(state_dir)
        self._logged: set[str] = set()
        self._unlogged: list[audit_log.AuditEvent] = []
        self.is_behind = False

    def present(self, request: HeldCall, now: float, *, log: bool = True) -> Presented:
        def work(ledger: Ledger) -> Presented:
            known = ledger.waiting(request.binding, now)
            if known is None:
                return Presented("pending", ledger.enter(self._named(request, ledger)), fresh=True)
            if known.status == "approved":
                return Presented("used", ledger.use(known, now))
            return Presented(known.status, known)

        return self._change(work, now, log=log)

    def write_log(self, *, patient: bool = False) -> None:
        lines, self._unlogged = self._unlogged, []
        if lines:
            self.is_behind = True
            self._audit.append(lines, patient=patient)
            self._logged, self.is_behind = {event.id for event in lines}, False

    def approve(self, prefix: str, decision: Decision, now: float, window: float, *, unseen: bool = False) -> HeldCall:
        return self._change(lambda ledger: ledger.approve(prefix, decision, now, window, unseen=unseen), now)

    def deny(self, prefix: str, decision: Decision, now: float, lasts: float) -> HeldCall:
        return self._change(lambda ledger: ledger.deny(prefix, decision, now, lasts), now)

    def lapse(self, means: Callable[[HeldCall], bool], decision: Decision, now: float) -> list[HeldCall]:
        return self._change(lambda ledger: ledger.lapse(means, decision, now), now) if self.path.exists() else []

    def settle(self, nonce: str, status: Status, decision: Decision, now: float) -> HeldCall | None:
        return self._change(lambda ledger: ledger.settle(nonce, status, decision, now), now)

    def entries(self) -> list[HeldCall]:
        signed = self._file.read().entries
        if not signed:
            return []
        own = self._key(signed)
        trusted = [entry for entry in signed if _trusted(own, entry)]
        if len(trusted) < len(signed):
            self._change(Ledger.check, time.time())
        return sorted(trusted, key=lambda entry: entry.created)

    def look(self) -> tuple[list[HeldCall], list[HeldCall]]:
        """The trusted entries, and the others. Changes nothing. Raises `StoreError`."""
        signed = self._file.read(keep_aside=False).entries
        if not signed:
            return [], []
        own = self._key(signed)
        return [entry for entry in signed if _trusted(own, entry)], [entry for entry in signed if not _trusted(own, entry)]

    def sweep(self, now: float) -> None:
        if self.path.exists():
            self._change(lambda ledger: None, now, patient=False)  # noqa: ARG005

    def _change(self, work: Callable[[Ledger], T], now: float, *, patient: bool = True, log: bool = True) -> T:
        """Runs `work` on the current ledger and stores its changes, also if `work` raises."""
        with self._file.locked(patient=patient):
            stored = self._file.read()
            own = self._key(stored.entries)
            ledger = Ledger(stored.entries, partial(self._trusted_now, own, closed={}))
            ledger.sweep(now)
            try:
                return work(ledger)
            finally:
                self._keep(own, stored, ledger, now, log=log, patient=patient)

    def _key(self, signed: list[HeldCall]) -> bytes:
        """The key; never a new one if something is signed already. Raises `StoreError`."""
        place = signing_key_file.path(self._state_dir)
        if signed and not place.exists():
            raise signing_key.SigningKeyError(
                f"{place} is missing, though it has signed {len(signed)} calls; restore it from a backup"
            )
        return signing_key_file.load(self._state_dir)

    def _keep(self, own: bytes, stored: _File, ledger: Ledger, now: float, *, log: bool, patient: bool) -> None:
        left = self._not_logged(stored.outbox)
        forged = [self._forged(entry, now) for entry in ledger.forged]
        if stored.outbox and not signing_key.fits(own, msgspec.json.encode(stored.outbox), stored.mac):
            left, forged = [], [*forged, self._forged_outbox(stored.outbox, now)]
        events = [*left, *forged, *(self._event(entry) for entry in ledger.changed)]
        if ledger.changed or ledger.dropped or forged:
            changed = {entry.nonce: _signed(own, entry) for entry in ledger.changed}
            entries = [changed.get(entry.nonce, entry) for entry in ledger.entries]
            outbox = events[-MAX_OUTBOX:]
            mac = signing_key.sign(own, msgspec.json.encode(outbox)) if outbox else ""
            self._file.write(_File(entries=entries, outbox=outbox, mac=mac))
        self._unlogged, self.is_behind = events, False
        if log:
            with suppress(StoreError):  # the lines stay in the outbox; a verdict must not wait for a full disk
                self.write_log(patient=patient)

    def _trusted_now(self, own: bytes, entry: HeldCall, closed: dict[float, set[str]]) -> bool:
        """Signed with our key, and not a copy of an entry that the audit log records as closed.

        `closed` caches the ids of all events since a time.
        """
        if not _trusted(own, entry):
            return False
        if entry.status not in OPEN:
            return True
        ids = next((found for since, found in closed.items() if since <= entry.created), None)
        if ids is None:
            ids = closed[entry.created] = self._audit.ids_since(entry.created)
        return ids.isdisjoint(f"{entry.nonce}-{_EVENTS[status]}" for status in _CLOSED)

    def _not_logged(self, outbox: list[audit_log.AuditEvent]) -> list[audit_log.AuditEvent]:
        unsure = [event for event in outbox if event.id not in self._logged]
        try:
            known = self._audit.known([event.id for event in unsure]) if unsure else set()
        except OSError:
            known = set()
        return [event for event in unsure if event.id not in known]

    def _named(self, request: HeldCall, ledger: Ledger) -> HeldCall:
        taken = {entry.nonce for entry in ledger.entries}
        nonce = secrets.token_hex(NONCE_BYTES)
        while nonce in taken:
            nonce = secrets.token_hex(NONCE_BYTES)
        return msgspec.structs.replace(request, nonce=nonce)

    def _event(self, entry: HeldCall) -> audit_log.AuditEvent:
        at = entry.decided or entry.created
        return self._line(entry, _EVENTS[entry.status], at)

    def _forged(self, entry: HeldCall, now: float) -> audit_log.AuditEvent:
        """Only what identifies the entry: the rest is an attacker's text."""
        shown = {name: audit_log.plain(getattr(entry, name), MAX_FORGED_SHOWN) for name in _SHOWN_FIELDS}
        why = "not signed with our key, or put back after it was closed"
        return audit_log.AuditEvent(
            id=f"{shown['nonce']}-forged", time=audit_log.when(now), event="forged", why=why, gateway=self._gateway, **shown
        )

    def _forged_outbox(self, outbox: list[audit_log.AuditEvent], now: float) -> audit_log.AuditEvent:
        name = sha256(msgspec.json.encode(outbox)).hexdigest()[:16]
        why = f"{len(outbox)} lines that waited for the audit log are not signed with our key"
        return audit_log.AuditEvent(
            id=f"outbox-{name}-forged", time=audit_log.when(now), event="forged", why=why, gateway=self._gateway
        )

    def _line(self, entry: HeldCall, event: str, at: float) -> audit_log.AuditEvent:
        return audit_log.AuditEvent(
            id=f"{entry.nonce}-{event}",
            time=audit_log.when(at),
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


def _signed(own: bytes, entry: HeldCall) -> HeldCall:
    bare = msgspec.structs.replace(entry, mac="")
    return msgspec.structs.replace(bare, mac=signing_key.sign(own, msgspec.json.encode(bare)))


def _trusted(own: bytes, entry: HeldCall) -> bool:
    return signing_key.fits(own, msgspec.json.encode(msgspec.structs.replace(entry, mac="")), entry.mac)
