"""Entries as the database returns them: of a call, only what this gateway signed itself is believed."""

from __future__ import annotations

import msgspec
from msgspec import structs

from toolguard_engine.approvals.ledger import HeldCall, Status
from toolguard_engine.stores import audit_log, signed_entry
from toolguard_engine.stores.fleet.pipe_messages import FleetEntry, SignedVerdict

WHERE = "fleet"
LONGEST = 40 * 86_400.0
"""Seconds from now within which times are believed: no call waits as long, and every time can be printed."""

_DECODER = msgspec.json.Decoder(HeldCall)


def request_of(own: bytes, nonce: str, stored: bytes) -> HeldCall | None:
    """The call as it was presented under this nonce; None if we did not sign that. `own`: our key."""
    try:
        entry = _DECODER.decode(stored)
        is_ours = signed_entry.is_trusted(own, msgspec.Raw(stored))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, AttributeError):
        return None
    return entry if is_ours and entry.nonce == nonce and entry.status == "pending" else None


def named(entry: FleetEntry) -> HeldCall:
    """What a line about an entry that is not ours can name."""
    return HeldCall(entry.nonce[:64], "", "", "", "", "", "", "", "", 0.0, 0.0)


def with_state(entry: HeldCall, stated: FleetEntry, now: float, skew: float) -> HeldCall:
    """What has become of it, as the database says. Whoever believes an approval verifies its signatures. `skew`: the
    server's clock minus ours."""
    last = _last(stated.decisions, stated.status)
    return structs.replace(
        entry,
        status=stated.status,
        expires=now + min(max(stated.left, -LONGEST), LONGEST),
        decided=0.0 if stated.status == "pending" else min(max(stated.decided - skew, now - LONGEST), now + LONGEST),
        by=audit_log.plain(stated.by or (last.approver if last else ""), 100),
        where=audit_log.plain(stated.where, 40) or (WHERE if stated.status in ("approved", "used", "denied") else ""),
        why=audit_log.plain(stated.why or (last.why or "" if last else "")),
    )


def _last(decisions: tuple[SignedVerdict, ...], status: Status) -> SignedVerdict | None:
    wanted = "denied" if status == "denied" else "approved" if status in ("approved", "used") else ""
    return next((decision for decision in reversed(decisions) if decision.verdict == wanted), None)
