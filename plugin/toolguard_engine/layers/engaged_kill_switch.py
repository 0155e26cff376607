"""The kill switches, of this machine and of its fleet: while one is on, no call of any agent runs, whatever the mode."""

from __future__ import annotations

from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Verdict
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.wording import approval

CODE = "kill-switch.on"
FLEET_CODE = "kill-switch.fleet"
CODES = (CODE, FLEET_CODE)


def judge(given: LayerInput, _: Judgement) -> Judgement | None:
    if not given.kill_switch:
        return None
    return judgement.wrap(verdict(given.kill_switch, given.config.approval.prefix, given.kill_code), ends=True, free=True)


def verdict(why: str, prefix: str, code: str = CODE) -> Verdict:
    """`why`: the reason that was given, and by whom."""
    text = approval.stopped_by_fleet(prefix, why) if code == FLEET_CODE else approval.stopped(prefix, why)
    return Verdict("block", code, text, why)
