"""How long an approval lasts. Pure: the time and what is in progress are handed in.

`approvalWindowMs` counts only while no run is in progress that could use the approval: a run of the same session. While
there is one, the engine moves the end of the approval along (a lease), so that it ends soon if that engine dies. An approval
of which its agent cannot be told yet does not count until its next run begins. In all, it is over after
`ledger.MAX_APPROVED`.

- A run in progress: the end is at most a window away, and not much less.
- No run, and the agent could be told: the end never moves away, and is at most a window away.
- No run, and the agent cannot be told: the end is the latest one.
- What is over stays over.
"""

from __future__ import annotations

import math

from msgspec import Struct

from toolguard_engine.approvals.ledger import SKEW, HeldCall, Woken, latest_end

RENEWED_BELOW = 0.75
"""The part of a window that must be left while a run is in progress."""


class EndMove(Struct, frozen=True):
    """The end that an approval gets (seconds since 1970), and whether its agent was told."""

    nonce: str
    expires: float
    woken: Woken = ""
    asleep: str = ""


class WakeOutcome(Struct, frozen=True):
    """What the gateway says of waking an agent. `asleep`: why it could not be woken."""

    woken: Woken
    asleep: str = ""


NO_NEWS = WakeOutcome("")


def move(
    entry: HeldCall,
    now: float,
    window: float,
    *,
    is_busy: bool,
    outcome: WakeOutcome = NO_NEWS,
    left: float = math.inf,
) -> EndMove | None:
    """What an engine does about this approval now; None where nothing. `is_busy`: a run is in progress that could use it;
    `left`: seconds until its latest end by a clock that nobody sets back."""
    if now >= entry.expires:
        return None
    notice = _notice(entry, outcome, is_busy=is_busy)
    expires = _end(entry, now, window, is_busy=is_busy, can_be_notified=notice.woken != "later")
    if now + left + SKEW < expires:
        expires = now + left
    if expires == entry.expires and notice.woken == entry.woken:
        return None
    return EndMove(entry.nonce, expires, notice.woken, notice.asleep)


def _notice(entry: HeldCall, outcome: WakeOutcome, *, is_busy: bool) -> WakeOutcome:
    """Once its agent was told, an approval does not wait for another run."""
    known = outcome if entry.woken in ("", "busy") and outcome.woken else WakeOutcome(entry.woken, entry.asleep)
    return WakeOutcome("told", known.asleep) if known.woken == "later" and is_busy else known


def _end(entry: HeldCall, now: float, window: float, *, is_busy: bool, can_be_notified: bool) -> float:
    latest = latest_end(entry)
    if not can_be_notified:
        return latest
    most = min(now + window, latest)
    if is_busy and entry.expires - now < RENEWED_BELOW * window:
        return max(most, entry.expires)
    return min(entry.expires, most)
