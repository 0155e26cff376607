"""External drift: more and more data or words leave this machine."""

from __future__ import annotations

from toolguard_engine.approvals.standing import Seen

CODE = "drift.outward"


def judge(seen: Seen, most: int, who: str) -> str:
    """Judges only calls that are outward themselves."""
    if not most or seen.outward < most:
        return ""
    times = seen.outward + 1
    return f"{who} has sent data or text elsewhere {times} times since a person last checked; {most} are allowed."


def count(seen: Seen) -> None:
    seen.outward += 1
