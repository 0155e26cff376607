"""Whether an approval reaches its agent: for `approve`, `revive --approve` and the dashboard.

The engine notes in the entry what became of waking the agent, a moment after the approval.
"""

from __future__ import annotations

import time

from toolguard_cli.operations import reload_note
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import MAX_APPROVED, HeldCall
from toolguard_engine.config.settings import Config
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.stores.undo import undo_notes

SECONDS = 4.0
"""How long the engine is waited for."""

POLL_SECONDS = 0.05


def window(places: Places, config: Config) -> float:
    """Returns for how many seconds an approval holds that is given now. Without an engine its agent cannot use it: it holds
    as long as an approval may, and the engine that the agent's next run starts shortens that."""
    return config.approval_window_ms / 1000 if has_engine(places) else MAX_APPROVED


def followed(places: Places, ledger: HeldCallStore, entry: HeldCall, config: Config) -> tuple[HeldCall, Line]:
    """The entry as it is by now, and what its agent knows of the approval. Never raises."""
    if not has_engine(places):
        return entry, Line("warn", replies.reaches(entry, "no gateway runs here, so the agent is not woken"))
    if not config.approval.wake:
        return entry, Line("next", replies.not_woken(entry))
    limit = time.monotonic() + SECONDS
    while time.monotonic() < limit:
        entry = _now(ledger, entry)
        if entry.woken or entry.status != "approved":
            break
        time.sleep(POLL_SECONDS)
    is_well = entry.status != "approved" or entry.woken in ("woken", "busy")
    return entry, Line(
        "next" if is_well else "warn", replies.reaches(entry, undo=undo_notes.offer(places.state_dir, entry.nonce))
    )


def has_engine(places: Places) -> bool:
    """Whether an engine runs, or will run again in a moment because its gateway reloads it."""
    try:
        return reload_note.is_gateway_running(places)
    except StoreError:
        return True  # it cannot be told: the shorter time counts


def _now(ledger: HeldCallStore, entry: HeldCall) -> HeldCall:
    try:
        return next((held for held in ledger.look()[0] if held.nonce == entry.nonce), entry)
    except (StoreError, OSError):
        return entry
