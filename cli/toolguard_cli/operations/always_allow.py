"""Approves a held call and allows exactly that call for a while: for the command and the dashboard.

Only where the grant is narrow, which `approvals.repeatable_calls` of the engine decides.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from toolguard_cli.operations import approve_call, grant_calls
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import repeatable_calls
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import MAX_APPROVED, Decision, HeldCall
from toolguard_engine.approvals.repeatable_calls import IN_WORDS, narrow_grant
from toolguard_engine.config.settings import Config
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import HeldCallStore

if TYPE_CHECKING:
    from toolguard_cli.operations.sign_approval import Signing


def always_allow(
    places: Places,
    ledger: HeldCallStore,
    entry: HeldCall,
    period: str,
    decision: Decision,
    config: Config,
    *,
    signing: Signing | None = None,
) -> tuple[HeldCall, Grant, str]:
    """Approves the call and grants the same call for `period` (a key of `PERIODS`): the approved call, the grant, and the
    message for the user. Approves first: whatever ends this in between, nothing is granted that nobody approved. Raises
    `UserError` where the grant is not narrow or cannot be written, `RefusedError` and `StoreError`."""
    offered(entry, period)
    narrow = narrow_grant(entry)
    assert narrow.grant is not None  # noqa: S101 - `offered` has seen it
    reason = decision.why or f"allowed with {entry.nonce}"
    draft = repeatable_calls.draft(narrow.grant, period, decision.by, reason, time.time())
    signed = signing.decision(entry, MAX_APPROVED) if signing else None
    approved, message = approve_call.approve(places, ledger, entry.nonce, decision, config, signed=signed)
    try:
        grant = grant_calls.add(places, draft, signing)
    except (UserError, StoreError, OSError) as error:
        text = f"{entry.nonce} was approved once, but nothing was allowed for longer: {error}"
        raise UserError(text, "toolguard grant allows calls in advance") from error
    return approved, grant, f"{message}; {grant.id} allows {narrow.scope} for {IN_WORDS[period]}"


def offered(entry: HeldCall, period: str) -> str:
    """What would be allowed and how long, in words. Raises `UserError` where nothing would."""
    if why_not := repeatable_calls.not_a_period(period):
        raise UserError(why_not, "toolguard grant --for accepts any duration")
    narrow = narrow_grant(entry)
    if narrow.grant is None:
        fix = f"toolguard approve {entry.nonce} lets it run once"
        raise UserError(f"{entry.nonce} can only be approved once: {narrow.why_not}", fix)
    return f"for {IN_WORDS[period]}: {narrow.scope}"
