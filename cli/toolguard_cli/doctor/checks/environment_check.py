"""Environment variables that change the location of files."""

from __future__ import annotations

from toolguard_cli.doctor.check_types import Check, DoctorSubject
from toolguard_engine.wording import printable

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
"""Toolguard's variable, which only toolguard reads, and OpenClaw's for the same location."""


def shown(subject: DoctorSubject) -> Check:
    variables = {name: printable.plain(subject.env[name]) for name in MOVING if subject.env.get(name)}
    text = ", ".join(f"{name}={value}" for name, value in variables.items())
    for ours, theirs in PAIRS:
        if theirs in variables and variables.get(ours, variables[theirs]) != variables[theirs]:
            different = f"toolguard and openclaw use different gateways here: {text}"
            return Check("environment", "warn", different, f"unset {ours}", variables)
    return Check("environment", "ok", text or "no environment variable changes a location", data=variables)
