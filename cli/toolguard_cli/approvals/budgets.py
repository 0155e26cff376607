"""The budgets, trust and drift signals of agents, for display."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.standing import EXACT, Standing
from toolguard_engine.config.settings import BudgetConfig, Config, parse
from toolguard_engine.layers.autonomy import budget
from toolguard_engine.layers.autonomy.drift import alone, cautioned, escalation, outward, resource, speed
from toolguard_engine.rules.risk_ranks import LEVELS, SAFE
from toolguard_engine.wording import printable

SHOWN = 10
WIDTH = 80
_ASKED = range(SAFE + 1, len(LEVELS))
"""The ranks of the risk levels that need budget and trust."""

_CAUSES = {
    budget.EXHAUSTED: "too little budget was left for a call",
    budget.DISTRUSTED: "its trust was too low for a call",
    budget.NO_STORE: "the amount spent before was unknown",
    speed.CODE: "more than {calls_per_minute} calls a minute",
    alone.CODE: "no user activity for {minutes_alone} minutes",
    cautioned.CODE: "{warnings} warnings",
    outward.CODE: "more than {outward_calls} calls that sent data out",
    escalation.CODE: "its calls grew riskier {escalating_access} times",
    resource.CODE: "more than {same_resource} calls on one file, host or recipient",
}
"""The signals, with the thresholds of `budget.drift`."""


def settings(places: Places) -> Config:
    """The settings of the config, or the defaults if they are invalid (see `invalid`)."""
    try:
        return parse(gateway_stores.entry(places))
    except (UserError, msgspec.ValidationError):
        return Config()


def invalid(places: Places) -> str:
    """Why the settings are invalid; empty if they are valid."""
    try:
        parse(gateway_stores.entry(places))
    except UserError as error:
        return error.message
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def worth_a_look(known: Iterable[Standing], config: Config) -> list[Standing]:
    """Those that have spent, lost trust or shown a signal; signals first, then by what is left."""
    standings = [
        standing
        for standing in known
        if standing.spent > 0 or standing.reported or standing.trust < _of(standing, config).budget.initial_trust
    ]
    return sorted(
        standings, key=lambda standing: (not standing.reported, left(standing, config), standing.agent, standing.session)
    )


def left(standing: Standing, config: Config) -> float:
    return max(0.0, round(_of(standing, config).budget.size - standing.spent, 9))


def name(standing: Standing) -> str:
    agent = printable.cut(printable.plain(standing.agent), WIDTH) or "an unknown agent"
    return f"{agent} in {printable.cut(printable.plain(standing.session), WIDTH)}"


def describe(standing: Standing, config: Config) -> str:
    own = _of(standing, config)
    size, mode = own.budget.size, own.active_budget_mode
    spare = f"{left(standing, config):.2f} of {size:.2f} left{_too_little(_too_costly(standing, own))}"
    trust = f"trust {standing.trust:.2f}{_too_little(_too_trusting(standing.trust))}"
    causes = ", ".join(cause(code, own.budget) for code in standing.reported)
    asks = f" ({'would ask' if mode in ('shadow', 'disabled') else 'asked'}: {causes})" if causes else ""
    return f"budget of {name(standing)}: {spare}; {trust}; {mode}{asks}"


def unused(config: Config) -> str:
    """One line if no budget was used; empty if budgets are disabled."""
    others = {agent: config.for_agent(agent).active_budget_mode for agent in config.agents}
    odd = {agent: mode for agent, mode in others.items() if mode != config.active_budget_mode}
    own = [f"{printable.cut(printable.plain(agent), WIDTH)}: {mode}" for agent, mode in odd.items()][:SHOWN]
    if config.active_budget_mode == "disabled" and not own:
        return ""
    modes = config.active_budget_mode + (f" ({', '.join(own)})" if own else "")
    return f"budgets: {modes}, {config.budget.size:.2f} each, none used yet"


def waits(standing: Standing, config: Config) -> bool:
    """Whether a call would be held now that would not be with a full budget and initial trust."""
    own = _of(standing, config)
    lowest = budget.LOWEST_HELD.get(own.active_budget_mode)
    if lowest is None:
        return False
    now = {*_too_costly(standing, own), *_too_trusting(standing.trust)}
    at_first = {*_too_costly(Standing("", ""), own), *_too_trusting(own.budget.initial_trust)}
    return any(rank >= lowest for rank in now - at_first)


def _too_costly(standing: Standing, own: Config) -> list[int]:
    """The ranks of the risk levels that cost more than is left."""
    spare = round(own.budget.size - standing.spent, EXACT)
    return [rank for rank in _ASKED if budget.cost(rank, own.budget) > max(0.0, spare)]


def _too_trusting(trust: float) -> list[int]:
    """The ranks of the risk levels that need more trust than this."""
    return [rank for rank in _ASKED if budget.TRUST.needed[rank] > trust]


def _too_little(ranks: list[int]) -> str:
    if not ranks:
        return ""
    *first, last = [LEVELS[rank] for rank in ranks]
    return f", too little for {', '.join(first)}{' and ' if first else ''}{last} calls"


def cause(code: str, own: BudgetConfig) -> str:
    text = _CAUSES.get(code)
    limits = {field: getattr(own.drift, field) for field in own.drift.__struct_fields__}
    return text.format(**limits) if text else printable.cut(printable.plain(code), WIDTH)


def data(standing: Standing, config: Config) -> dict[str, Any]:
    own = _of(standing, config)
    return {
        "agent": standing.agent,
        "session": standing.session,
        "left": left(standing, config),
        "size": own.budget.size,
        "spent": standing.spent,
        "trust": standing.trust,
        "mode": own.active_budget_mode,
        "signals": list(standing.reported),
        "checkpoints": standing.epoch,
        "touched": standing.touched,
    }


def _of(standing: Standing, config: Config) -> Config:
    return config.for_agent(standing.agent)
