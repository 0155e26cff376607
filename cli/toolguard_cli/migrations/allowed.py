"""Which values a setting accepts."""

from __future__ import annotations

from typing import Any

import msgspec

from toolguard_cli.hostconfig import env_vars, schema_check
from toolguard_cli.hostconfig.config_tree import Steps
from toolguard_engine.config import settings
from toolguard_engine.config.plugin_manifest import config_schema


def fits(target: Steps, value: Any) -> bool:
    """Whether the setting at this path below toolguard's settings accepts this value, with variables substituted."""
    nested = value
    for step in reversed(target):
        nested = {step: nested}
    try:
        parsed(nested)
    except msgspec.ValidationError:
        return False
    return True


def parsed(written: Any) -> settings.Config:
    """Toolguard's settings as the gateway reads them: variables substituted, `3.0` as a whole number. Raises
    `msgspec.ValidationError`."""
    return settings.parse(env_vars.whole_numbers(env_vars.filled(written)))


def describe(target: Steps) -> str:
    """The accepted values, for messages; empty if there is no such setting."""
    schema = schema_check.follow(config_schema(), target)
    return schema_check.allowed(schema) if schema else ""
