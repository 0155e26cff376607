"""Explains an invalid setting in one line: its full path and the reason."""

from __future__ import annotations

import re

import msgspec

from toolguard_cli.system.paths import PLUGIN_ID

KEYS = f"plugins.entries.{PLUGIN_ID}.config"


def key(error: msgspec.ValidationError) -> str:
    """The full path of the invalid key."""
    text = str(error)
    at = re.search(r"at `\$\.?([^`]*)`", text)
    unknown = re.search(r"unknown field `([^`]*)`", text)
    return ".".join(part for part in (KEYS, at[1] if at else "", unknown[1] if unknown else "") if part)


def explain(error: msgspec.ValidationError) -> str:
    """One line: the key and the reason."""
    reason = re.sub(r" - at `[^`]*`$", "", str(error))
    return f"{key(error)}: {reason}"
