"""Whether a call about which a person was asked may take away what the person has.

The only copy of that may then be in a folder that an agent has made, so such a folder is not the agent's to delete any
more. A call that was asked about for what it sends, starts or lets in takes nothing away: it is known as well as one that
nobody had to be asked about.
"""

from __future__ import annotations

from typing import Literal

from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.effects.programs.wrappers import AWAY
from toolguard_engine.rules.judgement import Judgement

Loss = Literal["nothing", "replaced", "anything"]

_KEEPING_RULES = frozenset({
    "network.mail", "network.message", "network.message-matrix", "network.message-phone", "network.message-request",
    "network.posted-message", "network.upload", "network.upload-lan", "persistence.startup", "persistence.startup-touched",
    "persistence.units", "openclaw.access", "openclaw.package", "openclaw.run-program", "openclaw.write-startup",
    "packages.notice", "tools.send",
})  # fmt: skip
"""Rules about what a call sends, starts or lets in."""

_KEEPING_AWAY = _KEEPING_RULES | {"filesystem.write-secret", "unknown.credentials"}
"""The same on another machine: what is replaced there is not what an agent has here."""

_KEEPING_KINDS = frozenset({"connect", "copy-out", "elevate", "enable", "gateway", "read", "send", "upload", "write"})
_POSSIBLE = "rule.self-protection.possible"
"""The code of what may be about the guard's own files; all other rules have judged such a call as well."""


def find(judgement: Judgement) -> Loss:
    """What a call that was asked about may take away: nothing, what it replaces on this machine, or anything."""
    rules, effects = {match.rule for match in judgement.matches}, judgement.effects
    is_by_rules = bool(effects) if judgement.code == _POSSIBLE else judgement.code.removeprefix("rule.") in rules
    if not is_by_rules or judgement.partial or judgement.severe or not all(map(_keeps, effects)):
        return "anything"
    is_away = bool(effects) and all(effect.kind == "connect" or _is_away(effect) for effect in effects)
    if not rules <= (_KEEPING_AWAY if is_away else _KEEPING_RULES):
        return "anything"
    return "nothing" if is_away else "replaced"


def _keeps(effect: Effect) -> bool:
    """Not an archive that is unpacked here: what it replaces is not known."""
    return effect.kind in _KEEPING_KINDS and ("unpacked" not in effect.flags or _is_away(effect))


def _is_away(effect: Effect) -> bool:
    return effect.program is not None and not AWAY.isdisjoint(effect.program.via)
