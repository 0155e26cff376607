"""While standings cannot be read or saved, calls that their budget would have to pay for are held for approval.

An engine that then began with full budgets would give back what was spent, and damaging the file would be a way to get
there. So would be ending an engine that cannot save what is spent.
"""

from __future__ import annotations

from toolguard_engine.layers.autonomy.budget import LOWEST_HELD, NO_STORE
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Verdict
from toolguard_engine.rules import judgement, risk_levels
from toolguard_engine.rules.judgement import Judgement

REASON = "The budget of this agent cannot be read or written; run `toolguard doctor --fix`."
_HOLD = judgement.wrap(Verdict("hold", NO_STORE, reason=REASON))


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    """A hold for the risk levels for which the budget holds calls at all."""
    if not given.store_error or earlier.decision != "allow" or earlier.free:
        return None
    lowest = LOWEST_HELD.get(given.config.active_budget_mode)
    if lowest is None or risk_levels.weigh(given.reading, earlier, given.config)[0] < lowest:
        return None
    return _HOLD
