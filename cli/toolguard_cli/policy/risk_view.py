"""The risk of a call, and whether its verdict depends on unknown details, for `toolguard check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolguard_cli.policy.offline_guard import Judging
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.layers.autonomy.budget import TRUST, cost
from toolguard_engine.model.call import Call
from toolguard_engine.rules import risk_levels, risk_ranks
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.rules.rulebook import Rule
from toolguard_engine.wording import printable

WHO = ("agent", "channel", "requester")
_OTHERWISE = {"allow": "it may run", "hold": "it would be held", "block": "it would be blocked"}
_MODES = {
    "enforce": "it is held if the agent has less (budget.mode is enforce)",
    "soft": "it is held if the agent has less and the level is HIGH or CRITICAL (budget.mode is soft)",
}


def risk(call: Call, judgement: Judgement, config: Config) -> dict[str, Any]:
    """`level`, `cost` (of `budget.size`) and the required `trust` (0 to 1). `call`: without an envelope."""
    rank, _ = risk_levels.weigh(CallReading(call), judgement, config)
    return {"level": risk_ranks.LEVELS[rank], "cost": cost(rank, config.budget), "trust": TRUST.needed[rank]}


def describe(measured: dict[str, Any], judgement: Judgement, config: Config) -> str:
    """Empty where the budget holds nothing: beside the score it would be a second scale that decides nothing."""
    if config.active_budget_mode not in _MODES:
        return ""
    if judgement.decision == "block":
        lost = f"trying it lowers trust by {-TRUST.violation:.2f}"
        return f"{measured['level']}: it never runs, so it costs nothing; {lost}"
    if measured["level"] == risk_ranks.LEVELS[risk_ranks.SAFE]:
        return f"{measured['level']}: needs neither budget nor trust"
    costs = f"costs {measured['cost']:.2f} of a budget of {config.budget.size:.2f}, needs trust {measured['trust']:.2f}"
    return f"{measured['level']}: {costs}; {_MODES[config.active_budget_mode]}"


def depends(judged: Judging, call: Call, judgement: Judgement) -> Iterator[str]:
    """The unknown details because of which a call (without an envelope) is held or blocked."""
    if judgement.decision == "allow":
        return
    doubtful = [(rule, lacks) for rule in judged.book.viewed if (lacks := _unknown(rule, call))]
    name = next((rule.name for rule, _ in doubtful if judgement.code == rule.code), "")
    if not name:
        return
    other = judged.without(rule.id for rule, _ in doubtful).weigh(call)
    if other.decision == judgement.decision:
        return
    options = [f"--{flag}" for flag in (*WHO, "at") if any(flag in lacks for _, lacks in doubtful)]
    on = "the time of the call" if options == ["--at"] else "who makes the request"
    yield f"it depends on {on}: give {', '.join(options)}"
    yield printable.plain(
        f"unknown details count as a match for the rule {name}; if they do not match, {_OTHERWISE[other.decision]}"
    )


def _unknown(rule: Rule, call: Call) -> set[str]:
    if rule.severity == "advisory":
        return set()
    lacks = {name for name in WHO if not getattr(call, name) and not {"*"}.issuperset(getattr(rule, name))}
    return lacks | ({"at"} if (rule.hours or rule.days) and call.at <= 0 else set())
