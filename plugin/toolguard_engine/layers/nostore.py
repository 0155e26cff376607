"""Where it cannot be read how the agents stood, or not be written: what their budget would have to pay for asks a person.

An engine that began with full budgets then would give back what was spent; a damaged file would be a way to get there. So
would be to end one while what it spends cannot be written.
"""

from __future__ import annotations

from toolguard_engine import risklevels
from toolguard_engine.config import Config
from toolguard_engine.judgement import Judgement
from toolguard_engine.layers.budget import LOWEST_HELD
from toolguard_engine.model import Call, Verdict

CODE = "budget.no-store"
REASON = "How this agent stands cannot be read or written, so its budget is not safe; run `toolguard doctor --fix`."


def judge(call: Call, found: Judgement, config: Config) -> Verdict | None:
    """A hold for the levels for which the budget holds calls at all."""
    lowest = LOWEST_HELD.get(config.active_budget_mode)
    if lowest is None or risklevels.weigh(call, found, config)[0] < lowest:
        return None
    return Verdict("hold", CODE, reason=REASON)
