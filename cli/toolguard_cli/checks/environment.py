"""Which variables move things away from where they usually are."""

from __future__ import annotations

from toolguard_cli.checks.check import Check, Subject
from toolguard_engine import answers

MOVING = (
    "TOOLGUARD_STATE_DIR",
    "TOOLGUARD_CONFIG",
    "OPENCLAW_STATE_DIR",
    "OPENCLAW_CONFIG_PATH",
    "OPENCLAW_HOME",
    "OPENCLAW_PROFILE",
    "OPENCLAW_INCLUDE_ROOTS",
)
PAIRS = (("TOOLGUARD_STATE_DIR", "OPENCLAW_STATE_DIR"), ("TOOLGUARD_CONFIG", "OPENCLAW_CONFIG_PATH"))
"""Two names for one place: ours is for toolguard alone."""


def shown(subject: Subject) -> Check:
    found = {name: answers.plain(subject.env[name]) for name in MOVING if subject.env.get(name)}
    told = ", ".join(f"{name}={value}" for name, value in found.items())
    for ours, theirs in PAIRS:
        if theirs in found and found.get(ours, found[theirs]) != found[theirs]:
            different = f"toolguard and openclaw look at different gateways here: {told}"
            return Check("environment", "warn", different, f"unset {ours}", found)
    return Check("environment", "ok", told or "no variable moves anything", data=found)
