"""Is there a config, can it be read, and does our entry in it fit."""

from __future__ import annotations

import re

import msgspec

from toolguard_cli.checks.check import UNREAD, Check, Subject
from toolguard_cli.paths import PLUGIN_ID
from toolguard_engine import config as settings

KEYS = f"plugins.entries.{PLUGIN_ID}.config"


def found(subject: Subject) -> Check:
    if subject.problem:
        return Check("config", "error", subject.problem, "mend the file; toolguard has not touched it")
    if subject.config is None or not subject.config.exists:
        return Check(
            "config", "error", f"no config at {subject.places.config}", "toolguard install, or name it with --config"
        )
    return Check("config", "ok", f"{subject.places.config}")


def fits(subject: Subject) -> Check:
    """The gateway does not start with settings that break the schema; this names the key."""
    if subject.config is None:
        return Check("settings", "warn", UNREAD, "mend the config first")
    try:
        settings.parse(subject.entry.get("config"))
    except msgspec.ValidationError as error:
        return Check("settings", "error", explain(error), f"mend {key(error)} in {subject.places.config}")
    return Check("settings", "ok", f"{KEYS} fits")


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
