"""Held calls that expired before anybody answered, or did not run though approved, and reviving them: for commands, `status`
and the dashboard."""

from __future__ import annotations

import time

from toolguard_cli.operations import woken_agents
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import MISSED_REMEMBERED, Decision, HeldCall
from toolguard_engine.config.settings import Config
from toolguard_engine.stores.ports import HeldCallStore


def missed(entries: list[HeldCall], now: float, seconds: float = MISSED_REMEMBERED) -> list[HeldCall]:
    """What expired unanswered or lapsed in the last `seconds`, the latest first; without calls that were held again since,
    and revived ones. `entries`: as `HeldCallStore.entries` or `look` returns them."""
    return replies.missed(entries, now, seconds)


def revive(ledger: HeldCallStore, nonce: str, decision: Decision) -> tuple[HeldCall, str]:
    """The agent is asked to make the call again; nothing is approved. Raises `RefusedError` and `StoreError`."""
    entry = ledger.revive(nonce, decision, time.time())
    return entry, replies.revived(entry)


def revive_approved(
    places: Places, ledger: HeldCallStore, nonce: str, decision: Decision, config: Config, *, unseen: bool = False
) -> tuple[HeldCall, str]:
    """The same, and exactly this call is approved, once, under a new nonce. Raises `RefusedError` and `StoreError`;
    `UserError` where the settings name signers."""
    if config.approval.is_signed:
        raise UserError(
            f"{nonce} cannot be revived and approved in one step: approvals are signed here, "
            "and the signature names the new nonce",
            f"toolguard revive {nonce}, then toolguard approve when the agent has made the call again",
        )
    window = woken_agents.window(places, config)
    entry = ledger.revive_approved(nonce, decision, time.time(), window, unseen=unseen)
    return entry, replies.approved(entry, window)
