"""Whether a call destroys something, so that nothing that would let it run unasked is proposed.

What its effects are decides, and what its rules say of it in the sentence that people read; so a person's own rules count
too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.rules.judgement import Judgement

KINDS = frozenset({"delete", "delete-found", "discard", "empty", "device-write", "format", "kill-found", "replace-key"})
FLAGS = frozenset({"drop", "truncate", "delete", "deletes", "destroys", "wiped", "erases", "shutdown"})
_SAYS = re.compile(
    r"\b(?:delet|destroy|drop|remov|discard|wip(?:e|ing)|eras|overwrit|rewrit|lose|lost|undone|empti|truncat|replac|revok|"
    r"purg|reset|unpublish|withdraw)",
    re.IGNORECASE,
)


def destroys(judgement: Judgement) -> bool:
    effects = ((effect.kind, effect.flags) for effect in judgement.effects)
    reasons = [*(match.reason for match in judgement.matches), *(rule.reason for rule in judgement.severe)]
    return _destroys(effects, reasons)


def held_destroys(call: HeldCall) -> bool:
    """The same of a held call, by what it keeps of that for people. One that keeps nothing may destroy something."""
    known = call.details
    if known is None or known.more:
        return True
    return _destroys(((effect.kind, effect.flags) for effect in known.effects), (rule.reason for rule in known.rules))


def _destroys(effects: Iterable[tuple[str, Iterable[str]]], reasons: Iterable[str]) -> bool:
    return any(kind in KINDS or not FLAGS.isdisjoint(flags) for kind, flags in effects) or any(map(_SAYS.search, reasons))
