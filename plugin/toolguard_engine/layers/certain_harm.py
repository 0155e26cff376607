"""What would surely harm the guard itself is blocked before anything else is weighed; no approval lifts it.

What the kernel keeps from the call is judged last (`harm_in_room`)."""

from __future__ import annotations

from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement


def judge(given: LayerInput, _: Judgement) -> Judgement | None:
    harm = given.harm
    is_certain = harm is not None and harm.decision == "block" and not given.harm_is_kept
    return judgement.wrap(harm, ends=True) if harm and is_certain else None
