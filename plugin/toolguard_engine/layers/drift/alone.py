"""Too long without a person: nobody wrote to the agent, and nobody gave a checkpoint."""

from __future__ import annotations

from toolguard_engine.layers.drift.step import Step
from toolguard_engine.standing import Seen

CODE = "drift.alone"
MINUTE = 60


def judge(seen: Seen, step: Step, most: int, who: str) -> str:
    """`most`: minutes since then, or since the first call."""
    if not most or not seen.since or step.at - seen.since <= most * MINUTE:
        return ""
    return f"Nobody has looked at {who} for {int(step.at - seen.since) // MINUTE} minutes; {most} are allowed."


def count(seen: Seen, step: Step) -> None:
    if not seen.since:
        seen.since = step.at
