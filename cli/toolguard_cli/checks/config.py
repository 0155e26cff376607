"""Is there a config, and can it be read; and the names of our settings, for whoever tells what is wrong with one."""

from __future__ import annotations

import re

import msgspec

from toolguard_cli.checks.check import Check, Subject
from toolguard_cli.paths import PLUGIN_ID

KEYS = f"plugins.entries.{PLUGIN_ID}.config"


def found(subject: Subject) -> Check:
    if subject.problem:
        return Check("config", "error", subject.problem, "mend the file; toolguard has not touched it")
    if subject.config is None or not subject.config.exists:
        fix = f"{subject.command('install')}, or name it with --config"
        return Check("config", "error", f"no config at {subject.places.config}", fix)
    if subject.config.problems:
        first = subject.config.problems[0]
        return Check("config", "error", f"the gateway does not start: {first.message}", first.fix or "mend that line")
    included = len(subject.config.files) - 1
    return Check("config", "ok", f"{subject.places.config}{f' and {included} that it includes' if included else ''}")


def key(error: msgspec.ValidationError) -> str:
    """The full path of the key that is wrong."""
    text = str(error)
    at = re.search(r"at `\$\.?([^`]*)`", text)
    unknown = re.search(r"unknown field `([^`]*)`", text)
    return ".".join(part for part in (KEYS, at[1] if at else "", unknown[1] if unknown else "") if part)


def explain(error: msgspec.ValidationError) -> str:
    """One line: the key, and what is wrong with it."""
    reason = re.sub(r" - at `[^`]*`$", "", str(error))
    return f"{key(error)}: {reason}"
