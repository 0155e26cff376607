"""What would surely harm the guard itself is blocked before anything else is weighed; no approval lifts it."""

from __future__ import annotations

from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement


def judge(given: LayerInput, _: Judgement) -> Judgement | None:
    harm = given.harm
    return judgement.of(harm, ends=True) if harm and harm.decision == "block" else None
