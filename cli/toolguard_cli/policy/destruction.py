"""Whether a call destroys something, so that nothing that would let it run unasked is proposed.

What its effects are decides, and what its rules say of it in the sentence that people read; so a person's own rules count
too.
"""

from __future__ import annotations

import re

from toolguard_engine.rules.judgement import Judgement

KINDS = frozenset({"delete", "delete-found", "discard", "empty", "device-write", "format", "kill-found", "replace-key"})
FLAGS = frozenset({"drop", "truncate", "delete", "deletes", "destroys", "wiped", "erases", "shutdown"})
_SAYS = re.compile(
    r"\b(?:delet|destroy|drop|remov|discard|wip(?:e|ing)|eras|overwrit|rewrit|lose|lost|undone|empti|truncat|replac|revok|"
    r"purg|reset|unpublish|withdraw)",
    re.IGNORECASE,
)


def destroys(judgement: Judgement) -> bool:
    if any(effect.kind in KINDS or FLAGS & effect.flags for effect in judgement.effects):
        return True
    reasons = [*(match.reason for match in judgement.matches), *(rule.reason for rule in judgement.severe)]
    return any(_SAYS.search(reason) for reason in reasons)
