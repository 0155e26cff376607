"""If some of the user's own rules cannot be read, and no good version of them is known, calls are held.

They only ever add holds and blocks, so to go on without them is to let through what they were written against.
"""

from __future__ import annotations

from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Verdict
from toolguard_engine.rules import judgement, risk_levels, risk_ranks
from toolguard_engine.rules.judgement import Judgement

CODE = "policy.unread"


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    """A hold for every call above SAFE if the guard acts at all."""
    config = given.config
    if (
        not given.unreadable_policy
        or earlier.decision != "allow"
        or earlier.free
        or config.active_mode not in ("enforce", "soft")
    ):
        return None
    if risk_levels.weigh(given.reading, earlier, config)[0] == risk_ranks.SAFE:
        return None
    words = given.unreadable_policy
    which = words if words.startswith("the fleet") else f"your {words} in policy.toml"
    reason = f"Some of {which} cannot be read and are not in force; run `toolguard doctor`, then fix them."
    return judgement.wrap(Verdict("hold", CODE, reason=reason))
