"""How agents stand, as the commands show it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from toolguard_cli import stores
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_engine import answers
from toolguard_engine.config import Config, parse
from toolguard_engine.standing import Standing

SHOWN = 10
WIDTH = 80


def settings(places: Places) -> Config:
    """As the config says; the defaults where it cannot be read, which `doctor` explains."""
    try:
        return parse(stores.entry(places))
    except (UserError, msgspec.ValidationError):
        return Config()


def worth_a_look(known: Iterable[Standing], config: Config) -> list[Standing]:
    """Those that have spent, lost trust or shown a signal; where a person should look first, then who has least left."""
    found = [each for each in known if each.spent > 0 or each.told or each.trust < _of(each, config).budget.initial_trust]
    return sorted(found, key=lambda each: (not each.told, left(each, config), each.agent, each.session))


def left(standing: Standing, config: Config) -> float:
    """Of the budget."""
    return max(0.0, round(_of(standing, config).budget.size - standing.spent, 9))


def name(standing: Standing) -> str:
    agent = answers.cut(answers.plain(standing.agent), WIDTH) or "an unknown agent"
    return f"{agent} in {answers.cut(answers.plain(standing.session), WIDTH)}"


def words(standing: Standing, config: Config) -> str:
    """One line."""
    own = _of(standing, config)
    mode = own.active_budget_mode
    codes = ", ".join(answers.cut(answers.plain(code), WIDTH) for code in standing.told)
    asks = f" ({'would ask' if mode in ('shadow', 'disabled') else 'asked'}: {codes})" if codes else ""
    spare = f"{left(standing, config):.2f} of {own.budget.size:.2f} left"
    return f"budget of {name(standing)}: {spare}, trust {standing.trust:.2f}, {mode}{asks}"


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
        "signals": list(standing.told),
        "checkpoints": standing.epoch,
        "touched": standing.touched,
    }


def _of(standing: Standing, config: Config) -> Config:
    return config.for_agent(standing.agent)
