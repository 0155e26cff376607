"""The lines of the audit log about held calls."""

from __future__ import annotations

from toolguard_engine.approvals.ledger import REVIVED, UNPROVEN, HeldCall, Status, is_lapsed
from toolguard_engine.stores import audit_log

EVENTS: dict[Status, str] = {
    "pending": "hold",
    "approved": "approve",
    "denied": "deny",
    "used": "consume",
    "expired": "expire",
}
MAX_FORGED_SHOWN = 200
_SHOWN_FIELDS = ("nonce", "tool", "agent", "session", "code", "shown")


LAPSED_EVENT = "lapsed"
"""An approval that was not used in time. Its id is that of an entry that expired, which other versions look for."""


def of_status(entry: HeldCall, gateway: str) -> audit_log.AuditEvent:
    """What has become of it."""
    if is_lapsed(entry):
        return line(entry, LAPSED_EVENT, entry.decided or entry.created, gateway, EVENTS["expired"])
    event = "revive" if entry.why == REVIVED else EVENTS[entry.status]
    if entry.status == "expired" and entry.why.startswith(UNPROVEN):
        event = "forged"
    return line(entry, event, entry.decided or entry.created, gateway)


def line(entry: HeldCall, event: str, at: float, gateway: str, name: str = "") -> audit_log.AuditEvent:
    """`name`: what makes its id unique beside the nonce, if that is not the event."""
    return audit_log.AuditEvent(
        id=f"{entry.nonce}-{name or event}",
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
        gateway=gateway,
    )


def forged(entry: HeldCall, why: str, now: float, gateway: str) -> audit_log.AuditEvent:
    """Only what identifies the entry: the rest is an attacker's text."""
    shown = {name: audit_log.plain(getattr(entry, name), MAX_FORGED_SHOWN) for name in _SHOWN_FIELDS}
    return audit_log.AuditEvent(
        id=f"{shown['nonce']}-forged", time=audit_log.when(now), event="forged", why=why, gateway=gateway, **shown
    )
