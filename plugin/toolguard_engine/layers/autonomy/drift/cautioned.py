"""Accumulated warnings. They are counted where they are given (`autonomy.Autonomy.warned`)."""

from __future__ import annotations

from toolguard_engine.approvals.standing import Seen

CODE = "drift.warnings"


def judge(seen: Seen, most: int, who: str) -> str:
    """Reports the `most`th warning and later ones."""
    if not most or seen.warnings < most:
        return ""
    return f"{who} has been warned {seen.warnings} times since a person last checked; {most} are allowed."
