"""`alwaysBlock`: every call of these tools is held for approval."""

from __future__ import annotations

from toolguard_engine.host.tool_search import tool_names
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Verdict
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement

CODE = "approval.always-block"
REASON = "The settings require a person's approval for every call to this tool (alwaysBlock)."
_HOLD = Verdict("hold", CODE, reason=REASON)


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    names = given.config.always_block
    if earlier.decision == "block" or not names or given.reading.tool not in tool_names(tuple(names)):
        return None
    return judgement.changed(earlier, _HOLD)
