"""What a gateway makes of an approval: it alone verifies signatures, and says in its audit log what it found.

The log arrives by the database, which is not believed about approvals: this is for the person, and lets nothing run.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from toolguard_engine.wording import printable

if TYPE_CHECKING:
    from toolguard_fleet.person_access import PersonSession
    from toolguard_fleet.registry_rows import FleetCall

PATIENCE = 15.0
"""Seconds: a gateway hears of a decision within one, and sends its log every two."""
PAUSE = 0.5
MAX_WHY = 300
MAX_LINES = 50
ACCEPTED = ("approve", "consume")


@dataclass(frozen=True)
class GatewayAnswer:
    """`why`: of a rejection, one line."""

    accepted: bool
    why: str = ""


class _Line(msgspec.Struct, frozen=True):
    event: str = ""
    why: str = ""


def wait_for(session: PersonSession, row: FleetCall, since: float) -> GatewayAnswer | None:
    """None if the gateway said nothing in time. `since`: by the server's clock. Raises `FleetError`."""
    until = time.monotonic() + PATIENCE
    while (answer := _latest_answer(session, row, since)) is None and time.monotonic() < until:
        time.sleep(PAUSE)
    return answer


def _latest_answer(session: PersonSession, row: FleetCall, since: float) -> GatewayAnswer | None:
    filters: dict[str, object] = {"gateway": row.gateway, "nonce": row.nonce, "hours": 1}
    for record in session.audit_trail().lines(filters, limit=MAX_LINES):
        if record.stored < since:
            return None
        try:
            line = msgspec.json.decode(record.line, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if line.event == "forged":
            return GatewayAnswer(accepted=False, why=printable.cut(line.why, MAX_WHY))
        if line.event in ACCEPTED:
            return GatewayAnswer(accepted=True)
    return None
