"""What the guard thinks of a call, whole: the verdict and all that led to it. `guard.weigh` makes it, `check` shows it."""

from __future__ import annotations

import msgspec

from toolguard_engine.model import Decision, Verdict
from toolguard_engine.rulebook import Match
from toolguard_engine.shell.model import Effect


class Judgement(msgspec.Struct, frozen=True):
    """`clarity`: 1 obvious to 10 ambiguous; `stakes`: 1 trivial to 10 irreversible; `matches`: the strongest first.

    `reason`: one sentence for a person; it names the path or host that the call is about. `note`: see `model.Verdict`.
    """

    decision: Decision
    code: str
    clarity: int = 1
    stakes: int = 1
    effects: tuple[Effect, ...] = ()
    matches: tuple[Match, ...] = ()
    reason: str = ""
    note: str = ""

    @property
    def score(self) -> int:
        return self.clarity * self.stakes

    @property
    def verdict(self) -> Verdict:
        return Verdict(self.decision, self.code, reason=self.reason, note=self.note)


def of(verdict: Verdict) -> Judgement:
    """A judgement that another layer made, without scores."""
    return Judgement(verdict.decision, verdict.code, reason=verdict.reason or verdict.text)
