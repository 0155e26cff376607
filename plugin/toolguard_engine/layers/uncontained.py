"""A command that cannot be contained is held, where `containment.whenUnavailable` says so."""

from __future__ import annotations

from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Verdict
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement

CODE = "containment.unavailable"
REASON = "Commands cannot be contained on this machine ({why}), and containment.whenUnavailable is hold."


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    """A hold in place of an allow."""
    if not given.uncontained or earlier.decision != "allow" or not given.reading.executes:
        return None
    return judgement.changed(earlier, Verdict("hold", CODE, reason=REASON.format(why=given.uncontained)))
