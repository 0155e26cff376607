"""Risk-weighted autonomy: a call's risk level, the budget, trust and drift make one question: must a person look first?"""

from __future__ import annotations

from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    if given.autonomy is None or earlier.decision != "allow" or earlier.free:
        return None
    asks = given.autonomy.judge(given.reading, earlier, given.config)
    return judgement.wrap(asks) if asks else None
