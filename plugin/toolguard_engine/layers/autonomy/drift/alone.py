"""Too long without a person: nobody wrote to the agent, and nobody gave a checkpoint."""

from __future__ import annotations

from toolguard_engine.approvals.standing import Seen
from toolguard_engine.layers.autonomy.drift.step import DriftStep

CODE = "drift.alone"
MINUTE = 60


def judge(seen: Seen, step: DriftStep, most: int, who: str) -> str:
    """`most`: minutes since then, or since the first call."""
    if not most or not seen.since or step.at - seen.since <= most * MINUTE:
        return ""
    return f"Nobody has checked on {who} for {int(step.at - seen.since) // MINUTE} minutes; {most} are allowed."


def count(seen: Seen, step: DriftStep) -> None:
    if not seen.since:
        seen.since = step.at
