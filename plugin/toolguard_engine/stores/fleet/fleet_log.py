"""The audit lines of this gateway about held calls in the fleet, each written to the local log once.

The database keeps what happened; a line that a killed engine did not write is written by the next one, which compares what
the database has with the log.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from msgspec import structs

from toolguard_engine.approvals.ledger import REISSUED, REVIVED, HeldCall, is_lapsed
from toolguard_engine.stores import audit_log, held_call_lines
from toolguard_engine.stores.ports import AuditLogStore

MAX_KNOWN = 20_000
MAX_LEFT = 5_000
"""In the reason of an approval, each time that it was used up for a call that did not run and was given back."""

MAX_REISSUED = 100


class FleetLog:
    """Raises `StoreError` from `write` alone."""

    def __init__(self, audit: AuditLogStore, gateway: str) -> None:
        self._audit = audit
        self._gateway = gateway
        self._known: dict[str, None] = {}
        """Ids that the log has, or that are in `_left`."""
        self._left: list[audit_log.AuditEvent] = []

    @property
    def is_behind(self) -> bool:
        return bool(self._left)

    def held(self, entry: HeldCall) -> None:
        """It is new, so the log cannot have it."""
        self._add([self._line(entry, "hold", entry.created)])

    def take(self, entries: Iterable[HeldCall], *, is_new: bool = False) -> None:
        """What has become of these entries. `is_new`: just now, by us."""
        unsure = [line for entry in entries for line in self._lines(entry) if line.id not in self._known]
        if unsure and not is_new:
            with suppress(OSError):
                self._know(self._audit.known([line.id for line in unsure]))
        self._add(unsure)

    def forged(self, entry: HeldCall, why: str, now: float) -> None:
        line = held_call_lines.forged(entry, why, now, self._gateway)
        if line.id not in self._known:
            with suppress(OSError):
                self._know(self._audit.known([line.id]))
            self._add([line])

    def write(self, *, patient: bool = False) -> None:
        """What cannot be written stays for the next time."""
        if lines := self._left[:MAX_LEFT]:
            self._audit.append(lines, patient=patient)
            del self._left[: len(lines)]

    def _lines(self, entry: HeldCall) -> list[audit_log.AuditEvent]:
        pending = structs.replace(entry, by="", where="", why="")
        lines = [self._line(pending, "hold", entry.created)]
        again = min(entry.why.count(REISSUED), MAX_REISSUED)
        number = f"-{again}" if again else ""
        if entry.status in ("approved", "used"):
            lines.append(self._line(entry, "approve", entry.decided, f"approve{number}"))
        if entry.status == "used":
            lines.append(self._line(entry, "consume", entry.decided, f"consume{number}"))
        elif entry.status == "denied":
            lines.append(self._line(entry, "deny", entry.decided))
        elif is_lapsed(entry):
            lines.append(self._line(entry, held_call_lines.LAPSED_EVENT, entry.decided, held_call_lines.EVENTS["expired"]))
        elif entry.status == "expired":
            lines.append(self._line(entry, "revive" if entry.why == REVIVED else "expire", entry.decided))
        return lines

    def _line(self, entry: HeldCall, event: str, at: float, name: str = "") -> audit_log.AuditEvent:
        return held_call_lines.line(entry, event, at or entry.created, self._gateway, name)

    def _add(self, lines: list[audit_log.AuditEvent]) -> None:
        fresh = [line for line in lines if line.id not in self._known]
        self._know({line.id for line in fresh})
        self._left += fresh

    def _know(self, ids: Iterable[str]) -> None:
        self._known |= dict.fromkeys(ids)
        while len(self._known) > MAX_KNOWN:
            self._known.pop(next(iter(self._known)))
