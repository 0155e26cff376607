"""Approves a held call once: for the command, `watch` and the dashboard."""

from __future__ import annotations

import time

from toolguard_cli.operations import woken_agents
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.config.settings import Config
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.stores.values import NeedsSignatureError


def approve(
    places: Places,
    ledger: HeldCallStore,
    nonce: str,
    decision: Decision,
    config: Config,
    *,
    unseen: bool = False,
    signed: SignedBody | None = None,
) -> tuple[HeldCall, str]:
    """The approved call, and the message for the user. Raises `RefusedError` and `StoreError`; `UserError` where the
    settings name signers and there is no signature.

    `unseen`: approve even if not all of the call can be shown.
    """
    fleet_only = config.fleet.enabled and config.fleet.when_away == "block"  # its signers are others
    if config.approval.is_signed and signed is None and not fleet_only:
        answer = replies.needs_signature(nonce)
        raise UserError(answer.text, answer.fix)
    window = woken_agents.window(places, config)
    signatures = (signed,) if signed else ()
    try:
        entry = ledger.approve(nonce, decision, time.time(), window, unseen=unseen, signatures=signatures)
    except NeedsSignatureError as error:  # of a fleet's held calls only
        answer = replies.needs_fleet_login(nonce)
        raise UserError(answer.text, answer.fix) from error
    return entry, replies.approved(entry, window)
