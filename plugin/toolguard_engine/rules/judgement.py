"""What the layers make of a call: the verdict and all that led to it. `guard.weigh` returns it, `check` shows it."""

from __future__ import annotations

import msgspec
from msgspec import structs

from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.model.call import ALLOW, Decision, Verdict
from toolguard_engine.rules.rulebook import Match, Rule


class Judgement(msgspec.Struct, frozen=True):
    """`clarity`: 1 obvious to 10 ambiguous; `stakes`: 1 trivial to 10 irreversible; `matches`: the strongest first.

    `reason`: one sentence for a person; it names the path or host that the call is about. `text`, `note`: see
    `model.Verdict`. `ends`: no later layer is asked. `free`: the call costs its agent nothing, as it was not weighed or
    runs nothing. `severe`: the rules with a severity that would hold it, the one that names the verdict first. `partial`: it
    was not read to its end, or not all layers have judged it.
    """

    decision: Decision
    code: str
    clarity: int = 1
    stakes: int = 1
    effects: tuple[Effect, ...] = ()
    matches: tuple[Match, ...] = ()
    reason: str = ""
    note: str = ""
    text: str = ""
    ends: bool = False
    free: bool = False
    severe: tuple[Rule, ...] = ()
    partial: bool = False

    @property
    def score(self) -> int:
        return self.clarity * self.stakes

    @property
    def verdict(self) -> Verdict:
        if self.code == ALLOW.code and not (self.note or self.reason or self.text):
            return ALLOW
        return Verdict(self.decision, self.code, self.text, self.reason, self.note)


UNJUDGED = Judgement("allow", "allow")
"""What the first layer is given."""


def wrap(verdict: Verdict, *, ends: bool = False, free: bool = False) -> Judgement:
    """A verdict without scores."""
    return Judgement(verdict.decision, verdict.code, reason=verdict.reason, text=verdict.text, ends=ends, free=free)


def noted(judgement: Judgement, note: str) -> Judgement:
    """Returns the judgement with another note for the model."""
    return structs.replace(judgement, note=f"{judgement.note}\n\n{note}" if judgement.note else note)


def changed(judgement: Judgement, verdict: Verdict) -> Judgement:
    """The scores, matches and note of `judgement` with another decision."""
    return structs.replace(judgement, decision=verdict.decision, code=verdict.code, reason=verdict.reason, free=False)
