"""Validates a value against the schema of toolguard's settings, and reports all errors with their paths.

Implements the part of JSON Schema that `plugin_manifest.config_schema` uses; a test ensures that it uses no other keywords,
which would be ignored here. Whole numbers written as `5.0` are valid integers.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.hostconfig.config_tree import Steps
from toolguard_engine.config.settings import TIME_PATTERN
from toolguard_engine.wording import printable

MAX_SHOWN = 40
STRUCTURE = frozenset({"properties", "additionalProperties", "items", "required"})
ANNOTATIONS = frozenset({"default"})


@dataclass(frozen=True)
class Misfit:
    """`meant`: the name that was probably meant, if the setting is `unknown`."""

    steps: Steps
    text: str
    unknown: bool = False
    meant: str = ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "object": ("an object { ... }", lambda value: isinstance(value, dict)),
    "array": ("a list [ ... ]", lambda value: isinstance(value, list)),
    "string": ("a string", lambda value: isinstance(value, str)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "integer": ("a whole number", lambda value: _is_number(value) and value == value // 1),
    "number": ("a number", _is_number),
}


def _matches(form: str, value: str) -> bool:
    """Matches like the gateway: `$` is the end of the string only, not a final line break."""
    return re.search(re.sub(r"\$$", r"\\Z", form), value) is not None


_RULES: dict[str, Callable[[Any, Any], bool]] = {
    "type": lambda value, kind: _TYPES[kind][1](value),
    "enum": lambda value, choices: value in choices,
    "minimum": lambda value, least: not _is_number(value) or value >= least,
    "maximum": lambda value, most: not _is_number(value) or value <= most,
    "minLength": lambda value, least: not isinstance(value, str) or len(value) >= least,
    "maxLength": lambda value, most: not isinstance(value, str) or len(value) <= most,
    "pattern": lambda value, form: not isinstance(value, str) or _matches(form, value),
    "maxItems": lambda value, most: not isinstance(value, list) or len(value) <= most,
    "maxProperties": lambda value, most: not isinstance(value, dict) or len(value) <= most,
}
"""Whether a value satisfies a keyword of the schema."""

KEYWORDS = STRUCTURE | ANNOTATIONS | _RULES.keys()


def misfits(value: Any, schema: dict[str, Any], steps: Steps = ()) -> Iterator[Misfit]:
    broken = next((word for word, rule in _RULES.items() if word in schema and not rule(value, schema[word])), "")
    if broken:
        yield Misfit(steps, f"must be {allowed(schema)}, not {_shown(value)}")
    if broken == "type":
        return
    if isinstance(value, dict):
        yield from (Misfit(steps, f"must have {name}") for name in schema.get("required", ()) if name not in value)
        for key, item in value.items():
            inner = below(schema, key)
            yield from _unknown(schema, key, steps) if inner is None else misfits(item, inner, (*steps, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from misfits(item, schema.get("items", {}), (*steps, at))


def below(schema: dict[str, Any], step: str | int) -> dict[str, Any] | None:
    """The schema of the value at this step; None if no value is allowed, empty if any is."""
    kind = schema.get("type")
    if isinstance(step, int):
        inner = schema.get("items", {}) if kind in {None, "array"} else False
    else:
        more = schema.get("additionalProperties", {})
        inner = schema.get("properties", {}).get(step, more) if kind in {None, "object"} else False
    return inner if isinstance(inner, dict) else None


def follow(schema: dict[str, Any], steps: Steps) -> dict[str, Any] | None:
    """The schema of the value at this path; None if no value is allowed."""
    inner: dict[str, Any] | None = schema
    for step in steps:
        inner = below(inner, step) if inner is not None else None
    return inner


def like(word: str, schema: dict[str, Any]) -> str:
    """The name in the schema that was probably meant; empty if none is similar."""
    names = {name.lower(): name for name in schema.get("properties", {})}
    near = difflib.get_close_matches(word.lower(), names, 1, 0.75)
    return names[near[0]] if near else ""


def _unknown(schema: dict[str, Any], key: str, steps: Steps) -> Iterator[Misfit]:
    meant = like(key, schema)
    known = ", ".join(schema.get("properties", ()))
    hint = f"did you mean {json5_edit.path_name((*steps, meant))}?" if meant else f"valid names: {printable.cut(known, 400)}"
    yield Misfit((*steps, key), f"unknown setting; {hint}", unknown=True, meant=meant)


def allowed(schema: dict[str, Any]) -> str:
    """The allowed values, for messages after `must be`."""
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if schema.get("pattern") == TIME_PATTERN:
        return "a time such as 22:00"
    word = _TYPES[schema["type"]][0] if "type" in schema else "a value"
    return word + "".join(text.format(**schema) for names, text in _LIMITS if all(name in schema for name in names))


_LIMITS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("minimum", "maximum"), " from {minimum} to {maximum}"),
    (("minLength", "maxLength"), " of {minLength} to {maxLength} characters"),
    (("pattern",), " that matches {pattern}"),
    (("maxItems",), " of at most {maxItems}"),
    (("maxProperties",), " of at most {maxProperties}"),
)


def _shown(value: Any) -> str:
    if isinstance(value, list | dict) and len(value) > MAX_SHOWN:
        return f"one of {len(value)}"
    return printable.cut(json.dumps(value, ensure_ascii=False), MAX_SHOWN)
