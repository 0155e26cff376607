"""Risk-weighted autonomy: a call that costs more than is left, or needs more trust than there is, asks for a checkpoint.

The costs are settings (`budget.riskCosts`); how trust moves, and what each level needs of it, is `TRUST`.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import msgspec

from toolguard_engine.approvals.standing import EXACT, Signal, Standing
from toolguard_engine.config.settings import BudgetConfig, Mode
from toolguard_engine.rules.risk_ranks import HIGH, LEVELS, LOW, SAFE
from toolguard_engine.wording import correction

LOWEST_HELD: dict[Mode, int] = {"soft": HIGH, "enforce": LOW}
"""In which modes of the budget calls are held, and from which level on."""

EXHAUSTED = "budget.exhausted"
NO_STORE = "budget.no-store"
DISTRUSTED = "budget.trust"
MOST_TRUST = 1.0


class TrustRates(msgspec.Struct, frozen=True):
    """How trust moves. `steady` takes the place of `clean` from the `streak`th clean call in a row on; `needed`: by rank."""

    clean: float = 0.005
    steady: float = 0.01
    streak: int = 10
    message: float = 0.05
    approval: float = 0.10
    warning: float = -0.02
    violation: float = -0.20
    needed: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8)


TRUST = TrustRates()
"""The figures of Equilibrium Guard (github.com/rizqcon/equilibrium-guard), where this weighing of autonomy comes from."""


_COSTS = tuple(name.lower() for name in LEVELS)


def cost(rank: int, budget: BudgetConfig) -> float:
    price: float = getattr(budget.risk_costs, _COSTS[rank])
    return price


def judge(standing: Standing, rank: int, tool: str, budget: BudgetConfig, unless: Collection[str] = ()) -> list[Signal]:
    """Why a person has to look before this call of a tool. A SAFE call needs neither budget nor trust.

    `unless`: codes that need not be said.
    """
    price, needed = cost(rank, budget), TRUST.needed[rank]
    exhausted = EXHAUSTED not in unless and price > 0 and round(standing.spent + price, EXACT) > budget.size
    distrusted = DISTRUSTED not in unless and standing.trust < needed
    if rank == SAFE or not (exhausted or distrusted):
        return []
    signals, who = [], agent(standing)
    this = f"this call ({correction.name(tool)}, {LEVELS[rank]})"
    if exhausted:
        left = "used up" if price <= budget.size else "too small for this call"
        spent = f"{_figure(standing.spent)} of {_figure(budget.size)} spent"
        reason = f"The budget of {who} in this session is {left}: {spent}, and {this} costs {_figure(price)}."
        signals.append(Signal(EXHAUSTED, reason))
    if distrusted:
        has = f"its trust is {_figure(standing.trust)}, and {this} needs {_figure(needed)}"
        signals.append(Signal(DISTRUSTED, f"{who[0].upper()}{who[1:]} is not trusted enough in this session: {has}."))
    return signals


def charge(standing: Standing, rank: int, budget: BudgetConfig) -> float:
    """What was taken."""
    price = cost(rank, budget)
    if price:
        standing.spent = round(standing.spent + price, EXACT)
    return price


def trust(standing: Standing, by: float) -> None:
    standing.trust = min(MOST_TRUST, max(0.0, round(standing.trust + by, EXACT)))


def clean(standing: Standing) -> None:
    standing.streak += 1
    if standing.trust < MOST_TRUST:
        trust(standing, TRUST.steady if standing.streak >= TRUST.streak else TRUST.clean)


def spoiled(standing: Standing, by: float) -> None:
    """Trust is lost, and the streak with it."""
    standing.streak = 0
    trust(standing, by)


def agent(standing: Standing) -> str:
    """Names the agent."""
    return _in_words(standing.agent)


@lru_cache(maxsize=100)
def _in_words(agent: str) -> str:
    return f"agent {correction.name(agent)}" if agent else "an unknown agent"


def _figure(value: float) -> str:
    """Two decimals, more only where they say something."""
    return f"{value:.2f}" if round(value, 2) == round(value, EXACT) else f"{value:g}"
