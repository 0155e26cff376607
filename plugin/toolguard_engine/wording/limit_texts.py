"""Texts about limits on cost and tokens. The first line for the model follows the block-reason protocol (`approval`).

Commands stand at the end: redaction hides `--tokens=5` before most other characters.
"""

from __future__ import annotations

import shlex

from toolguard_engine.wording import approval

NAMED = "toolguard limits"
"""What the answer of a run that ends for a limit must name."""

UNTIL = {"session": "midnight UTC", "day": "midnight UTC", "month": "the end of the month (UTC)"}

RUN_UNITS = {"calls": "tool calls", "requests": "requests to the model", "minutes": "minutes"}


def reached(words: str, used: str, per: str, command: str) -> str:
    """Tells a person that a limit is reached. `words`: the limit; `command`: what raises it."""
    return (
        f"The limit of {words} is reached: {used} used. Agents are stopped until {UNTIL[per]}. "
        f"`{NAMED}` shows the current usage. To raise the limit, run: {command}"
    )


def near(words: str, used: str, command: str) -> str:
    return (
        f"More than 80% of the limit of {words} has been used ({used}). At 100%, runs are ended. "
        f"To raise the limit, run: {command}"
    )


def run_reached(unit: str, most: int, setting: str, more: int) -> str:
    """`unit`: `calls`, `requests` or `minutes`; `setting`: the name of the limit; `more`: what it could be raised to."""
    raising = shlex.join(["toolguard", "config", "set", setting, str(more)])
    return (
        f"This run has reached its limit of {most:,} {RUN_UNITS[unit]}, and ends. The next message begins another run. "
        f"`{NAMED}` shows the limits. To raise this one, run: {raising}"
    )


def run_near(unit: str, used: int, most: int) -> str:
    return f"This run has used {used:,} of its {most:,} {RUN_UNITS[unit]}. At the limit, it ends."


def unknown(why: str) -> str:
    return (
        f"It is not known how much of the limits has been used: {why}. Until it is, only read-only calls run "
        "(failMode closed). "
        f"Run `toolguard doctor`; `{NAMED}` shows the limits."
    )


def blocked(prefix: str, reason: str) -> str:
    """Tells the model that a call was blocked."""
    return (
        f"{prefix}_BLOCK|{approval.line(reason)}\n"
        "No tool call runs, and no approval changes that. "
        "End your turn now, and tell the user this, including the commands."
    )


def note(reason: str) -> str:
    """Tells the model about a limit behind the result of a call."""
    return f"[TOOLGUARD NOTE] Finish what matters most, and tell the user: {reason}"
