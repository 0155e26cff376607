"""The kill switch: while it is on, no call of any agent runs, whatever the mode says."""

from __future__ import annotations

from toolguard_engine import approval_texts
from toolguard_engine.model import Verdict

CODE = "kill-switch.on"


def verdict(why: str, prefix: str) -> Verdict:
    """`why`: a person's reason, and who it was."""
    return Verdict("block", CODE, approval_texts.stopped(prefix, why), why)
