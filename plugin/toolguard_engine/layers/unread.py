"""Where the person's own rules or constraints cannot be read and no good version of them is known: a person is asked.

They only ever add a question or a refusal, so to go on without them is to let through what they were written against.
"""

from __future__ import annotations

from toolguard_engine import risklevels
from toolguard_engine.config import Config
from toolguard_engine.judgement import Judgement
from toolguard_engine.model import Call, Verdict

CODE = "policy.unread"


def judge(call: Call, found: Judgement, config: Config, unread: str) -> Verdict | None:
    """A hold for every call above SAFE where the guard acts at all. `unread`: what cannot be read, in words."""
    if config.active_mode not in ("enforce", "soft") or risklevels.weigh(call, found, config)[0] == risklevels.SAFE:
        return None
    reason = f"Your {unread} in policy.toml cannot be read, so none of them count; run `toolguard doctor` and mend the file."
    return Verdict("hold", CODE, reason=reason)
