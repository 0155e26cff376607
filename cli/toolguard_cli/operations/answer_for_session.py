"""Approves a held call, and allows the calls like it for the rest of its session: for the command, `watch` and the pages.

What is like it, `approvals.session_grant` of the engine decides.
"""

from __future__ import annotations

import time

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import approve_call
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import session_grant
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.approvals.session_grant import IN_WORDS
from toolguard_engine.approvals.session_grant_record import SessionGrant
from toolguard_engine.config.settings import Config
from toolguard_engine.server.session_answers import grant_line
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import HeldCallStore


def answer(
    places: Places, ledger: HeldCallStore, entry: HeldCall, decision: Decision, config: Config
) -> tuple[HeldCall, SessionGrant, str]:
    """The approved call, the grant, and the message for the user. Approves first: whatever ends this in between, nothing is
    granted that nobody approved. Raises `UserError`, `RefusedError` and `StoreError`."""
    scope = offered(entry, config)
    given = session_grant.offer(entry).grant
    assert given is not None  # noqa: S101 - `offered` has seen it
    approved, message = approve_call.approve(places, ledger, entry.nonce, decision, config)
    now = time.time()
    try:
        grant = stores.session_grants(places.state_dir).add(
            session_grant.draft(given, decision, now), now, lambda named: log(places, named, "grant")
        )
    except (StoreError, OSError) as error:
        text = f"{entry.nonce} was approved once, but nothing was allowed for longer: {error}"
        raise UserError(text, "the next such call is held again; allow it then") from error
    return approved, grant, f"{message}; {grant.id} allows {scope}"


def offered(entry: HeldCall, config: Config) -> str:
    """What would be allowed and how long, in words. Raises `UserError` where nothing would."""
    once = f"toolguard approve {entry.nonce} lets it run once"
    if config.approval.is_signed or config.fleet.enabled:
        raise UserError("an answer for a session carries no signature, which grants need here", once)
    offer = session_grant.offer(entry)
    if offer.grant is None:
        raise UserError(f"{entry.nonce} can only be approved once: {offer.why_not}", once)
    return f"{offer.scope}, {IN_WORDS}"


def log(places: Places, grant: SessionGrant, event: str, why: str = "") -> None:
    """Raises `StoreError`."""
    line = grant_line(grant, event, time.time(), why, gateway_stores.who(), "cli")
    stores.audit_log(places.state_dir).append([line])
