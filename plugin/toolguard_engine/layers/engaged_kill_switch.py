"""The kill switch: while it is on, no call of any agent runs, whatever the mode."""

from __future__ import annotations

from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Verdict
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.wording import approval

CODE = "kill-switch.on"


def judge(given: LayerInput, _: Judgement) -> Judgement | None:
    if not given.kill_switch:
        return None
    return judgement.of(verdict(given.kill_switch, given.config.approval.prefix), ends=True, free=True)


def verdict(why: str, prefix: str) -> Verdict:
    """`why`: the reason that was given, and by whom."""
    return Verdict("block", CODE, approval.stopped(prefix, why), why)
