"""Which values a setting may have, in words."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from toolguard_cli import configvars
from toolguard_cli.configtree import Steps
from toolguard_engine import config as settings
from toolguard_engine.manifest import config_schema


def fits(target: Steps, value: Any) -> bool:
    """Whether the setting at this path, below our own settings, may have this value, variables filled in."""
    nested = value
    for step in reversed(target):
        nested = {step: nested}
    try:
        parsed(nested)
    except msgspec.ValidationError:
        return False
    return True


def parsed(written: Any) -> settings.Config:
    """Our settings as the gateway takes them: variables filled in, and `3.0` is a whole number. Raises
    `msgspec.ValidationError`."""
    return settings.parse(configvars.whole_numbers(configvars.filled(written)))


def words(target: Steps) -> str:
    """For `allowed: ...`; empty where there is no such setting."""
    node: Any = _schema()
    for step in target:
        inner = node.get("properties", {}).get(step)
        node = inner if inner is not None else node.get("additionalProperties") or {}
    if "enum" in node:
        return "one of " + ", ".join(map(str, node["enum"]))
    say = _WORDS.get(node.get("type", ""))
    return say(node) if say else ""


@cache
def _schema() -> dict[str, Any]:
    return config_schema()


def _number(kind: str) -> Callable[[dict[str, Any]], str]:
    return lambda node: f"{kind} from {node['minimum']:g} to {node['maximum']:g}"


def _text(node: dict[str, Any]) -> str:
    if "pattern" in node:
        return f"a text like {node['pattern']}"
    return f"a text of {node.get('minLength', 0)} to {node.get('maxLength', 'many')} characters"


_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "boolean": lambda _: "true or false",
    "integer": _number("a whole number"),
    "number": _number("a number"),
    "string": _text,
    "array": lambda _: "a list of names",
    "object": lambda _: "an object",
}
