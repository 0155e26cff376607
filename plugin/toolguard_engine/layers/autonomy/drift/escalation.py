"""Escalating access: call by call more is at stake than ever before."""

from __future__ import annotations

from toolguard_engine.approvals.standing import Seen
from toolguard_engine.layers.autonomy.drift.step import DriftStep
from toolguard_engine.rules.risk_ranks import LEVELS

CODE = "drift.escalation"


def judge(seen: Seen, step: DriftStep, most: int, who: str) -> str:
    """An agent begins at SAFE. Asked at the `most`th rise, and only by the call that rises."""
    if not most or step.rank <= seen.highest or seen.rises + 1 < most:
        return ""
    now, before = LEVELS[step.rank], LEVELS[seen.highest]
    return f"the calls of {who} are getting riskier: from {before} to {now}; this is increase number {seen.rises + 1}."


def count(seen: Seen, step: DriftStep) -> None:
    if step.rank > seen.highest:
        seen.highest = step.rank
        seen.rises += 1
