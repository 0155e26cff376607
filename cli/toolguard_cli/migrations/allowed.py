"""Which values a setting accepts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from toolguard_cli.hostconfig import env_vars
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


def words(target: Steps) -> str:
    """The accepted values, for messages; empty if there is no such setting."""
    node: Any = _schema()
    for step in target:
        inner = node.get("properties", {}).get(step)
        node = inner if inner is not None else node.get("additionalProperties") or {}
    if "enum" in node:
        return "one of " + ", ".join(map(str, node["enum"]))
    describe = _WORDS.get(node.get("type", ""))
    return describe(node) if describe else ""


@cache
def _schema() -> dict[str, Any]:
    return config_schema()


def _number(kind: str) -> Callable[[dict[str, Any]], str]:
    return lambda node: f"{kind} from {node['minimum']:g} to {node['maximum']:g}"


def _text(node: dict[str, Any]) -> str:
    if "pattern" in node:
        return f"a string that matches {node['pattern']}"
    return f"a string of {node.get('minLength', 0)} to {node.get('maxLength', 'many')} characters"


_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "boolean": lambda _: "true or false",
    "integer": _number("a whole number"),
    "number": _number("a number"),
    "string": _text,
    "array": lambda _: "a list of names",
    "object": lambda _: "an object",
}
