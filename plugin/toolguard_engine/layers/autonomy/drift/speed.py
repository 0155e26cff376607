"""Speed: more calls than a person could follow.

Counted by whole seconds, so that a session takes the same small room however many calls a minute are allowed: a minute here
is 59 to 60 seconds.
"""

from __future__ import annotations

from toolguard_engine.approvals.standing import Seen
from toolguard_engine.layers.autonomy.drift.step import DriftStep

CODE = "drift.speed"
MINUTE = 60


def judge(seen: Seen, step: DriftStep, most: int, who: str) -> str:
    if not most or seen.in_minute < most or step.at <= 0:
        return ""
    _forget(seen, int(step.at))
    if seen.in_minute < most:
        return ""
    return f"{who} has made {seen.in_minute + 1} calls within a minute; {most} are allowed."


def count(seen: Seen, step: DriftStep) -> None:
    now = int(step.at)
    if now <= 0:
        return
    _forget(seen, now)
    seen.recent[seen.second % MINUTE] += 1
    seen.in_minute += 1


def _forget(seen: Seen, now: int) -> None:
    """Moves the minute so that it ends now. A clock that was set back counts as standing still, by far as a new start."""
    passed = now - seen.second
    if len(seen.recent) != MINUTE or abs(passed) >= MINUTE:
        seen.recent, seen.in_minute, seen.second = [0] * MINUTE, 0, now
    elif passed > 0:
        for second in range(seen.second + 1, now + 1):
            seen.in_minute -= seen.recent[second % MINUTE]
            seen.recent[second % MINUTE] = 0
        seen.second = now
