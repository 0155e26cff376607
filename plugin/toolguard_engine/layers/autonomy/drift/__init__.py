"""Drift: what an agent does turns into something that a person should look at.

One file per signal, each with `CODE`, `judge` (why a person should look if this call runs as well; empty where all is well)
and, where calls change it, `count` (the call runs). The thresholds are `budget.drift`; 0 switches a signal off.
"""

from __future__ import annotations

from toolguard_engine.approvals.standing import Seen, Signal
from toolguard_engine.config.settings import DriftConfig
from toolguard_engine.layers.autonomy.drift import alone, cautioned, escalation, outward, resource, speed
from toolguard_engine.layers.autonomy.drift.step import DriftStep

__all__ = ["DriftStep", "count", "judge"]


def judge(seen: Seen, step: DriftStep, limits: DriftConfig, who: str) -> list[Signal]:
    """What is wrong with how `who` (like `agent main`) goes on, with this call as its next one."""
    signals = []
    if step.rank and (reason := escalation.judge(seen, step, limits.escalating_access, who)):
        signals.append((escalation.CODE, reason))
    if step.outward and (reason := outward.judge(seen, limits.outward_calls, who)):
        signals.append((outward.CODE, reason))
    if step.resources and (reason := resource.judge(seen, step, limits.same_resource, who)):
        signals.append((resource.CODE, reason))
    if reason := cautioned.judge(seen, limits.warnings, who):
        signals.append((cautioned.CODE, reason))
    if reason := alone.judge(seen, step, limits.minutes_alone, who):
        signals.append((alone.CODE, reason))
    if reason := speed.judge(seen, step, limits.calls_per_minute, who):
        signals.append((speed.CODE, reason))
    return [Signal(code, f"{reason[0].upper()}{reason[1:]}") for code, reason in signals]


def count(seen: Seen, step: DriftStep) -> None:
    """A call runs."""
    if step.rank:
        escalation.count(seen, step)
    if step.outward:
        outward.count(seen)
    if step.resources:
        resource.count(seen, step)
    alone.count(seen, step)
    speed.count(seen, step)
