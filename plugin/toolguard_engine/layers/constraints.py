"""The user's own constraints: mandatory ones block, required ones ask, advisory ones are noted behind the result."""

from __future__ import annotations

import msgspec

from toolguard_engine.judgement import Judgement
from toolguard_engine.model import Call


class Constraint(msgspec.Struct, frozen=True):
    """One table `[[constraint]]` of policy.toml."""

    id: str


def judge(call: Call, found: Judgement, constraints: tuple[Constraint, ...]) -> Judgement:
    """`found` with what the constraints add: a block, a hold, a note."""
    return found
