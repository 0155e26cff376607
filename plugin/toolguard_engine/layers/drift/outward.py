"""External drift: more and more data or words leave this machine."""

from __future__ import annotations

from toolguard_engine.standing import Seen

CODE = "drift.outward"


def judge(seen: Seen, most: int) -> str:
    """Of a call that is outward itself: the others are not asked for."""
    if not most or seen.outward < most:
        return ""
    return f"It has sent data or words to the outside {seen.outward} times since a person last looked; {most} are allowed."


def count(seen: Seen) -> None:
    seen.outward += 1
