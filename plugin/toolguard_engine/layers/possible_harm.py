"""What might harm the guard itself is held, unless something else blocks it."""

from __future__ import annotations

from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    harm = given.harm
    if harm is None or harm.decision != "hold" or earlier.decision == "block" or given.harm_is_kept:
        return None
    return judgement.changed(earlier, harm)
