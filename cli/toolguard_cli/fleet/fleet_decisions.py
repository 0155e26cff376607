"""Held calls of all gateways, as a person decides on them: shown from what their gateway signed, and signed here.

What the database says about a call beside that (who asked, how many must approve) is shown, not believed: the signature is
for exactly the call that was shown.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from toolguard_cli.approvals import held_calls
from toolguard_cli.system import ssh_signing
from toolguard_cli.system.errors import UserError
from toolguard_engine.approvals import held_view, replies, signed_decision
from toolguard_engine.approvals.ledger import MAX_APPROVED, MIN_PREFIX, HeldCall, RefusedError
from toolguard_engine.approvals.signed_decision import DECISION_NAMESPACE, Issuer
from toolguard_engine.wording import printable

if TYPE_CHECKING:
    from toolguard_fleet.person_access import PersonSession
    from toolguard_fleet.registry_rows import FleetCall

TRUST = Path("/etc/toolguard")
HEX = set("0123456789abcdef")
MAX_SKEW = 900.0
"""Seconds; the same as the gateways believe."""

UNKNOWN = "no call has that nonce"
LOOK = "it may be mistyped or closed, or belong to another team; toolguard fleet pending lists the waiting calls"


@dataclass(frozen=True)
class ShownCall:
    """A held call and its row. The times of `entry` are by this machine's clock."""

    row: FleetCall
    entry: HeldCall


def shown(row: FleetCall) -> ShownCall | None:
    """None for what its gateway cannot have entered."""
    try:
        entry = msgspec.json.decode(row.entry or b"", type=HeldCall)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if entry.nonce != row.nonce:
        return None
    return ShownCall(row, entry)


def find(rows: list[FleetCall], prefix: str, gateway: str = "") -> ShownCall:
    """The one call that a person means. Raises `RefusedError`, and `UserError` for one that cannot be shown."""
    wanted = prefix.strip().lower()
    if len(wanted) < MIN_PREFIX or not set(wanted) <= HEX:
        raise RefusedError("malformed")
    calls = [row for row in rows if row.nonce.startswith(wanted) and gateway in ("", row.gateway)]
    if not calls:
        raise UserError(UNKNOWN, LOOK)
    if len(calls) > 1:
        raise RefusedError("ambiguous", matches=tuple(sorted(row.nonce for row in calls)))
    if (call := shown(calls[0])) is None:
        raise UserError(f"{calls[0].nonce} cannot be shown: its entry is damaged", "deny it, and tell the database's owner")
    return call


def details(call: ShownCall) -> held_calls.CallToRead:
    """What the person reads before deciding. Nothing of this machine is looked at: the call is of another one."""
    row, entry = call.row, call.entry
    approvals = [decision.approver for decision in row.decisions if decision.verdict == "approved"]
    asked = f", asked by {row.requester}" if row.requester else ""
    head = [
        f"{row.nonce} is {row.status}, {printable.duration(max(row.left, 0))} left",
        printable.plain(f"gateway {row.gateway} on {row.host}, team {row.team}{asked}"),
        held_calls.where(entry),
        *([printable.plain(f"needs {row.need} people; so far: {', '.join(approvals) or 'nobody'}")] * (row.need > 1)),
    ]
    return held_calls.laid_out(head, held_view.view(entry))


def public(call: ShownCall) -> dict[str, Any]:
    """Returns what scripts get."""
    row = call.row
    fields = {name: getattr(row, name) for name in ("gateway", "team", "host", "requester", "need")}
    approvals = [{"approver": decision.approver, "verdict": decision.verdict} for decision in row.decisions]
    data = held_calls.public(call.entry, time.time())
    return {**data, **fields, "status": row.status, "left": round(max(0.0, row.left), 1), "decisions": approvals}


def may_sign(row: FleetCall) -> bool:
    """Whether it waits for this person: also where the database counts a yes of theirs that its gateway did not accept."""
    own = any(decision.approver == row.you and decision.verdict == "approved" for decision in row.decisions)
    return row.status == "pending" or (row.status == "approved" and own)


def approve(session: PersonSession, call: ShownCall, key: str, why: str, *, trust: Path = TRUST) -> tuple[FleetCall, str]:
    """Signs and sends a yes; what it means, in words. Raises `UserError`, `FleetError`, `RefusedError`."""
    row = call.row
    until = signature_end(row, time.time())
    issuer = Issuer(row.gateway, row.team)
    body = signed_decision.decision_body(call.entry, issuer, until, verdict="approved", need=row.need)
    signature = _signed(body, key, trust / "allowed_signers")
    now = session.decide(row.gateway, row.nonce, "approved", body, signature.encode(), why)
    session.announce()
    if now.status == "approved":
        return now, f"{replies.approved(call.entry, row.window)}, on {printable.plain(row.host)}"
    count = sum(decision.verdict == "approved" for decision in now.decisions)
    return now, f"your approval of {row.nonce} is recorded: {count} of {row.need} people have approved it"


def signature_end(row: FleetCall, now: float) -> float:
    """When the signature is over, by the server's clock as far as it is believed: a database that names another time must
    not get an approval that it can use later."""
    server = min(max(row.created + row.age, now - MAX_SKEW), now + MAX_SKEW)
    return server + MAX_APPROVED + ssh_signing.SECONDS


def deny(session: PersonSession, call: ShownCall, why: str) -> tuple[FleetCall, str]:
    """Raises `FleetError`, `RefusedError`."""
    row = call.row
    now = session.decide(row.gateway, row.nonce, "denied", b"", b"", why)
    session.announce()
    return now, replies.refused(call.entry, taken_back=row.status == "approved")


def _signed(body: bytes, key: str, allowed: Path) -> str:
    """Sign with the first key that works.

    Without a list of signers here, the key must be named or be one of the usual files.
    """
    if not key and not allowed.exists():
        usual = (Path("~/.ssh").expanduser() / name for name in ssh_signing.FILES)
        key = next((str(path) for path in usual if path.exists()), "")
    errors: list[UserError] = []
    for candidate in ssh_signing.candidates(allowed, key):
        try:
            return ssh_signing.sign(body, DECISION_NAMESPACE, candidate)
        except UserError as error:
            errors.append(error)
    raise errors[0]


def revive(session: PersonSession, call: ShownCall, why: str) -> str:
    """Raises `FleetError`, `RefusedError`."""
    row = call.row
    session.revive(row.gateway, row.nonce, why)
    session.announce()
    return f"revived {row.nonce} on {printable.plain(row.host)}: its agent is asked to make the call again"
