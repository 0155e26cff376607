"""Denies a held call, or withdraws an unused approval: for the command, `watch` and the dashboard."""

from __future__ import annotations

import time

from toolguard_cli.approvals import held_calls
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import OPEN, Decision, HeldCall
from toolguard_engine.config.settings import Config
from toolguard_engine.stores.ports import HeldCallStore


def deny(
    ledger: HeldCallStore, prefix: str, decision: Decision, config: Config, *, unanswered: bool = False
) -> tuple[HeldCall, str]:
    """The denied call, and the message for the user. Raises `RefusedError` and `StoreError`.

    `unanswered`: only if nobody has answered yet.
    """
    known = held_calls.find(ledger.entries(), prefix, time.time(), *OPEN)
    entry = ledger.deny(known.nonce, decision, time.time(), config.pending_timeout_ms / 1000, unanswered=unanswered)
    return entry, replies.refused(entry, taken_back=known.status == "approved")
