"""Held calls on disk (`ledger_file`): every entry signed, every change made under the lock.

A change and its audit lines are stored together: the lines are written into the same file (`outbox`) and removed when the
log has them. A process that is killed at any point neither loses nor duplicates a line.

A signature covers all members of an entry, also those that this version does not know, and they are kept when it changes the
entry. So another version may add members that change no meaning; anything else needs a higher `v`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from toolguard_engine.approvals.approval_window import EndMove
from toolguard_engine.approvals.ledger import OPEN, Decision, HeldCall, Ledger, Status
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores import atomic, audit_log, gateway_identity, held_call_lines, signed_entry, signing_key
from toolguard_engine.stores.files import signing_key_file
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.ledger_file import LedgerFile, StoredLedger
from toolguard_engine.stores.locked import StoreError, is_there
from toolguard_engine.stores.ports import ApprovalProof
from toolguard_engine.stores.signed_entry import KnownEntries
from toolguard_engine.stores.state_files import HELD_CALLS as NAME
from toolguard_engine.stores.values import Presented

NONCE_BYTES = 4
MAX_OUTBOX = 5_000
_CLOSED: tuple[Status, ...] = ("used", "denied", "expired")

T = TypeVar("T")


class FileNonces:
    """`HeldCallStore` in a file. `path` is `<state dir>/toolguard/nonces.json` unless the settings name another."""

    def __init__(
        self, state_dir: Path, path: Path | None = None, gateway: str = "", proof: ApprovalProof | None = None
    ) -> None:
        self.path = path or atomic.own_folder(state_dir) / NAME
        self._state_dir = state_dir
        self._gateway = gateway
        self._proof = proof
        self._known = KnownEntries()
        self._file = LedgerFile(self.path, self._names, self._is_valid, journals=path is None)
        self._audit = AuditLog(state_dir)
        self._logged: set[str] = set()
        self._unlogged: list[audit_log.AuditEvent] = []
        self.is_behind = False

    def gateway_id(self) -> str:
        is_known = is_there(signing_key_file.path(self._state_dir))
        return gateway_identity.of_key(self._key(StoredLedger() if is_known else self._file.read()))

    def present(self, request: HeldCall, now: float, *, former: Collection[str] = (), log: bool = True) -> Presented:
        def work(ledger: Ledger) -> Presented:
            known = ledger.waiting(request.binding, now, former, request.meaning)
            refusal = self._proof.refusal(known, request, now) if known and self._proof and known.status in OPEN else ""
            if known and refusal:
                refused = ledger.refuse(known, refusal, now)
                if known.status == "approved":
                    return Presented("expired", refused, refusal=refusal)
                known = None
            if known is None:
                fresh = self._named(ledger.compared(request, str(Path.home())), ledger)
                return Presented("pending", ledger.enter(fresh), fresh=True)
            if known.status == "approved":
                return Presented("used", ledger.use(known, now))
            return Presented(known.status, known)

        return self._change(work, now, log=log)

    def give_back(self, used: HeldCall, now: float) -> HeldCall | None:
        return self._change(lambda ledger: ledger.give_back(used, self._new_nonce(ledger), now), now)

    def move_ends(self, moves: Sequence[EndMove], now: float) -> None:
        def work(ledger: Ledger) -> None:
            for move in moves:
                ledger.move_end(move.nonce, move.expires, move.woken, move.asleep)

        self._change(work, now, patient=False)

    def write_log(self, *, patient: bool = False) -> None:
        lines, self._unlogged = self._unlogged, []
        if lines:
            self.is_behind = True
            self._audit.append(lines, patient=patient)
            self._logged, self.is_behind = {event.id for event in lines}, False

    def approve(
        self,
        prefix: str,
        decision: Decision,
        now: float,
        window: float,
        *,
        unseen: bool = False,
        signatures: tuple[SignedBody, ...] = (),
    ) -> HeldCall:
        def work(ledger: Ledger) -> HeldCall:
            return ledger.approve(prefix, decision, now, window, unseen=unseen, signatures=signatures)

        return self._change(work, now)

    def deny(self, prefix: str, decision: Decision, now: float, lasts: float, *, unanswered: bool = False) -> HeldCall:
        return self._change(lambda ledger: ledger.deny(prefix, decision, now, lasts, unanswered=unanswered), now)

    def revive(self, prefix: str, decision: Decision, now: float) -> HeldCall:
        return self._change(lambda ledger: ledger.revive(prefix, decision, now), now)

    def revive_approved(
        self, prefix: str, decision: Decision, now: float, window: float, *, unseen: bool = False
    ) -> HeldCall:
        def work(ledger: Ledger) -> HeldCall:
            return ledger.revive_approved(prefix, self._new_nonce(ledger), decision, now, window, unseen=unseen)

        return self._change(work, now)

    def lapse(self, means: Callable[[HeldCall], bool], decision: Decision, now: float) -> list[HeldCall]:
        return self._change(lambda ledger: ledger.lapse(means, decision, now), now) if is_there(self.path) else []

    def settle(self, nonce: str, status: Status, decision: Decision, now: float) -> HeldCall | None:
        return self._change(lambda ledger: ledger.settle(nonce, status, decision, now), now)

    def is_decided(self, nonce: str, now: float) -> bool:
        try:
            known = self.look()[0]
        except StoreError:
            return False
        return not any(entry.nonce == nonce and entry.status == "pending" and now < entry.expires for entry in known)

    def entries(self) -> list[HeldCall]:
        trusted, others = self._sorted(self._file.read())
        if others:
            self._change(Ledger.check, time.time())
        return sorted(trusted, key=lambda entry: entry.created)

    def look(self) -> tuple[list[HeldCall], list[HeldCall]]:
        """The trusted entries, and the others. Changes nothing. Raises `StoreError`."""
        return self._sorted(self._file.read(keep_aside=False))

    def _is_valid(self, stored: StoredLedger) -> bool:
        """Raises `msgspec.ValidationError`."""
        read = self._known.keep if stored.id else self._known.decoded
        return read(stored.entries) is not None and _events(stored) is not None

    def _names(self, entries: Sequence[msgspec.Raw]) -> list[str]:
        return [entry.nonce for entry in self._known.keep(entries)]

    def _sorted(self, stored: StoredLedger) -> tuple[list[HeldCall], list[HeldCall]]:
        """The trusted entries, and the others."""
        own = self._key(stored) if stored.entries else b""
        both: tuple[list[HeldCall], list[HeldCall]] = [], []
        for entry, raw in zip(self._known.decoded(stored.entries), stored.entries, strict=True):
            both[not self._known.is_trusted(own, raw)].append(entry)
        return both

    def sweep(self, now: float) -> None:
        if is_there(self.path):
            self._change(lambda ledger: None, now, patient=False)  # noqa: ARG005

    def _change(self, work: Callable[[Ledger], T], now: float, *, patient: bool = True, log: bool = True) -> T:
        """Runs `work` on the current ledger and stores its changes, also if `work` raises."""
        with self._file.locked(patient=patient):
            stored = self._file.read()
            own = self._key(stored)
            held = self._known.decoded(stored.entries)
            raw = {entry.nonce: stored_entry for entry, stored_entry in zip(held, stored.entries, strict=True)}
            ledger = Ledger(held, partial(self._trusted_now, own, raw, closed={}))
            ledger.sweep(now)
            try:
                return work(ledger)
            finally:
                self._keep(own, stored, raw, ledger, now, log=log, patient=patient)

    def _key(self, stored: StoredLedger) -> bytes:
        """The key; never a new one if something is signed already. Raises `StoreError`."""
        place = signing_key_file.path(self._state_dir)
        if stored.entries and not is_there(place):
            raise signing_key.SigningKeyError(
                f"{place} is missing, though it has signed {len(stored.entries)} calls; restore it from a backup"
            )
        return signing_key_file.load(self._state_dir)

    def _keep(
        self,
        own: bytes,
        stored: StoredLedger,
        raw: dict[str, msgspec.Raw],
        ledger: Ledger,
        now: float,
        *,
        log: bool,
        patient: bool,
    ) -> None:
        left, is_known = self._not_logged(_events(stored))
        forged = [self._forged(entry, now) for entry in ledger.forged]
        if stored.outbox and not signing_key.fits(own, msgspec.json.encode(stored.outbox), stored.mac):
            left, is_known, forged = [], True, [*forged, self._forged_outbox(stored.outbox, now)]
        events = [*left, *forged, *(self._event(entry) for entry in ledger.changed)]
        if ledger.changed or ledger.moved or ledger.dropped or forged:
            new = [*ledger.moved, *ledger.changed]
            put = {entry.nonce: signed_entry.signed(own, entry, raw.get(entry.nonce)) for entry in new}
            entries = {entry.nonce: put.get(entry.nonce) or raw[entry.nonce] for entry in ledger.entries}
            put = {nonce: stored_raw for nonce, stored_raw in put.items() if nonce in entries}
            outbox = msgspec.to_builtins(events[-MAX_OUTBOX:])
            mac = signing_key.sign(own, msgspec.json.encode(outbox)) if outbox else ""
            value = StoredLedger(entries=list(entries.values()), outbox=outbox, mac=mac)
            self._file.write(value, put, raw.keys() - entries.keys())
        self._unlogged, self.is_behind = events if is_known else events[len(left) :], False
        if log:
            with suppress(StoreError):  # the lines stay in the outbox; a verdict must not wait for a full disk
                self.write_log(patient=patient)

    def _trusted_now(self, own: bytes, raw: dict[str, msgspec.Raw], entry: HeldCall, closed: dict[float, set[str]]) -> bool:
        """Signed with our key, and not a copy of an entry that the audit log records as closed.

        `closed` caches the ids of all events since a time.
        """
        if not self._known.is_trusted(own, raw[entry.nonce]):
            return False
        if entry.status not in OPEN:
            return True
        ids = next((trusted for since, trusted in closed.items() if since <= entry.created), None)
        if ids is None:
            ids = closed[entry.created] = self._audit.ids_since(entry.created)
        return ids.isdisjoint(f"{entry.nonce}-{held_call_lines.EVENTS[status]}" for status in _CLOSED)

    def _not_logged(self, outbox: list[audit_log.AuditEvent]) -> tuple[list[audit_log.AuditEvent], bool]:
        """Those that the log may lack, and whether they may be written to it: they wait until it can be read."""
        unsure = [event for event in outbox if event.id not in self._logged]
        try:
            known = self._audit.known([event.id for event in unsure]) if unsure else set()
        except OSError:
            return unsure, False
        left = [event for event in unsure if event.id not in known]
        return left, not left or self._is_on_disk()

    def _is_on_disk(self) -> bool:
        """Whether the ledger is: whoever wrote it may have been killed, or told that the disk has not confirmed it. A log
        that knew of a use before the ledger would have the approval taken for one that was put back."""
        try:
            self._file.confirm()
        except OSError:
            return False
        return True

    def _named(self, request: HeldCall, ledger: Ledger) -> HeldCall:
        return msgspec.structs.replace(request, nonce=self._new_nonce(ledger))

    @staticmethod
    def _new_nonce(ledger: Ledger) -> str:
        taken = {entry.nonce for entry in ledger.entries}
        nonce = secrets.token_hex(NONCE_BYTES)
        while nonce in taken:
            nonce = secrets.token_hex(NONCE_BYTES)
        return nonce

    def _event(self, entry: HeldCall) -> audit_log.AuditEvent:
        return held_call_lines.of_status(entry, self._gateway)

    def _forged(self, entry: HeldCall, now: float) -> audit_log.AuditEvent:
        why = "not signed with our key, or put back after it was closed"
        return held_call_lines.forged(entry, why, now, self._gateway)

    def _forged_outbox(self, outbox: list[dict[str, Any]], now: float) -> audit_log.AuditEvent:
        name = sha256(msgspec.json.encode(outbox)).hexdigest()[:16]
        why = f"{len(outbox)} lines that waited for the audit log are not signed with our key"
        return audit_log.AuditEvent(
            id=f"outbox-{name}-forged", time=audit_log.when(now), event="forged", why=why, gateway=self._gateway
        )


def _events(stored: StoredLedger) -> list[audit_log.AuditEvent]:
    """Raises `msgspec.ValidationError`."""
    return msgspec.convert(stored.outbox, list[audit_log.AuditEvent])
