"""What a held call would do and which rules say so, for the person who decides. Values only, bounded and redacted."""

from __future__ import annotations

import msgspec

MAX_EFFECTS = 12
MAX_RULES = 8
MAX_TARGET = 200


class HeldEffect(msgspec.Struct, frozen=True, gc=False):
    """One thing that the call would do. `path`: the absolute path concerned, empty for anything else."""

    kind: str
    target: str = ""
    path: str = ""
    flags: tuple[str, ...] = ()


class HeldRule(msgspec.Struct, frozen=True, gc=False):
    """One rule that matched: its id and its reason. `strength`: clarity times stakes, each with one added."""

    rule: str
    reason: str
    strength: int = 0


class HeldDetails(msgspec.Struct, frozen=True, gc=False):
    """`more`: how many further effects and rules there are; `files`: the digests of the files that the call runs."""

    effects: tuple[HeldEffect, ...] = ()
    rules: tuple[HeldRule, ...] = ()
    more: int = 0
    files: tuple[str, ...] = ()
