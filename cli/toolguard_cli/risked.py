"""What a call is worth in risk, and whether a verdict only rests on what is not known of it, for `toolguard check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolguard_cli.judging import Judging
from toolguard_engine import answers, risklevels
from toolguard_engine.config import Config
from toolguard_engine.judgement import Judgement
from toolguard_engine.layers.budget import TRUST, cost
from toolguard_engine.layers.constraints import Constraint, code
from toolguard_engine.model import Call

WHO = ("agent", "channel", "requester")
_OTHERWISE = {"allow": "it may run", "hold": "it would be held", "block": "it would be blocked"}
_MODES = {
    "enforce": "with budget.mode enforce a person is asked where less than that is left",
    "soft": "with budget.mode soft a person is asked where less than that is left and the level is HIGH or CRITICAL",
    "shadow": "with budget.mode shadow it is only logged where less than that is left",
    "disabled": "with budget.mode disabled nothing is counted",
}


def risk(call: Call, found: Judgement, config: Config) -> dict[str, Any]:
    """`level`, `cost` (of `budget.size`) and `trust` (0 to 1, what it needs). `call`: without an envelope."""
    rank, _ = risklevels.weigh(call, found, config)
    return {"level": risklevels.LEVELS[rank], "cost": cost(rank, config.budget), "trust": TRUST.needed[rank]}


def words(said: dict[str, Any], found: Judgement, config: Config) -> str:
    """One line for a person."""
    if found.decision == "block":
        return f"{said['level']}: it never runs, so it costs nothing; trying it takes {-TRUST.violation:.2f} of trust"
    if said["level"] == risklevels.LEVELS[risklevels.SAFE]:
        return f"{said['level']}: no budget and no trust is needed"
    costs = f"costs {said['cost']:.2f} of {config.budget.size:.2f}, needs trust {said['trust']:.2f}"
    return f"{said['level']}: {costs}; {_MODES[config.active_budget_mode]}"


def depends(judged: Judging, call: Call, found: Judgement) -> Iterator[str]:
    """What would have to be known of a call (without an envelope) that is held or blocked only because it is not."""
    if found.decision == "allow":
        return
    doubtful = [(each, lacks) for each in judged.constraints if (lacks := _unknown(each, call))]
    name = next((each.id for each, _ in doubtful if found.code == code(each)), "")
    if not name:
        return
    other = judged.unconstrained(each for each, _ in doubtful).weigh(call)
    if other.decision == found.decision:
        return
    options = [f"--{each}" for each in (*WHO, "at") if any(each in lacks for _, lacks in doubtful)]
    on = "when it is asked for" if options == ["--at"] else "who asks"
    yield f"it depends on {on}: say {', '.join(options)}"
    yield answers.plain(
        f"what is not known counts as fitting for the constraint {name}; where it does not fit, {_OTHERWISE[other.decision]}"
    )


def _unknown(constraint: Constraint, call: Call) -> set[str]:
    """What the constraint asks about and the call does not say."""
    if constraint.severity == "advisory":
        return set()
    lacks = {name for name in WHO if not getattr(call, name) and not {"*"}.issuperset(getattr(constraint, name))}
    return lacks | ({"at"} if (constraint.hours or constraint.days) and call.at <= 0 else set())
