"""Approves a held call once: for the command, `watch` and the dashboard."""

from __future__ import annotations

import time

from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.config.settings import Config
from toolguard_engine.stores.ports import HeldCallStore


def approve(
    ledger: HeldCallStore, nonce: str, decision: Decision, config: Config, *, unseen: bool = False
) -> tuple[HeldCall, str]:
    """The approved call, and the message for the user. Raises `RefusedError` and `StoreError`.

    `unseen`: approve even if not all of the call can be shown.
    """
    window = config.approval_window_ms / 1000
    entry = ledger.approve(nonce, decision, time.time(), window, unseen=unseen)
    return entry, replies.approved(entry, window)
