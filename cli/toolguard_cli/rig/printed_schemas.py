"""What the schema that an OpenClaw release prints (`openclaw config schema`) certainly refuses, in a short form.

Only three things are kept: the names of an object that takes no others, the types of a value, and the values of a choice.
Whatever the schema says in another way counts as anything, so that nothing is refused that the gateway would accept. What
plugins and channels bring along is left out: it depends on what is installed.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

from toolguard_cli.rig import downloads
from toolguard_cli.rig.private_home import Home
from toolguard_cli.system.errors import UserError
from toolguard_engine.host.setting_schemas import ANY, SettingSchema

LEFT_OUT = ("channels", "plugins")
LIMIT_SECONDS = 300
_TYPES = {"string": "s", "number": "n", "integer": "n", "boolean": "b", "object": "o", "array": "a", "null": "z"}
_ALTERNATIVES = ("anyOf", "oneOf")
_UNREAD = frozenset({"$ref", "if", "not", "allOf", "patternProperties"})
"""What only makes a schema narrower, or what this does not follow."""


def printed(real: downloads.Runtime) -> dict[str, Any]:
    """The schema that the release prints, in a home of its own. Raises `UserError`."""
    with Home("http://127.0.0.1:1") as home:
        done = subprocess.run(
            real.command("config", "schema"), env=home.environment, capture_output=True, text=True, check=False,
            timeout=LIMIT_SECONDS,
        )  # fmt: skip
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise UserError("OpenClaw prints no schema of its config", done.stderr[-500:]) from None
    return dict(answer)


def shortened(schema: dict[str, Any]) -> SettingSchema:
    """The whole config."""
    short = _short(schema)
    for name in LEFT_OUT:
        short.names[name] = SettingSchema()
    return short


def _short(schema: Any) -> SettingSchema:
    if not isinstance(schema, dict) or not _UNREAD.isdisjoint(schema):
        return SettingSchema()
    for word in _ALTERNATIVES:
        if word in schema:
            return _either([_short(option) for option in schema[word]])
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        texts = tuple(text for text in values if isinstance(text, str))
        return SettingSchema("".join(sorted({_letter(value) for value in values})), texts) if texts else _of_values(values)
    kinds = schema.get("type")
    letters = "".join(sorted({_TYPES[kind] for kind in (kinds if isinstance(kinds, list) else [kinds] if kinds else [])}))
    if not letters:
        return SettingSchema()
    more = schema.get("additionalProperties", True)
    others = _short(more) if isinstance(more, dict) else SettingSchema() if more else None
    items = schema.get("items")
    return SettingSchema(
        letters,
        (),
        {name: _short(member) for name, member in schema.get("properties", {}).items()},
        others if "o" in letters else None,
        _short(items) if isinstance(items, dict) else SettingSchema(),
    )


def _of_values(values: list[Any]) -> SettingSchema:
    return SettingSchema("".join(sorted({_letter(value) for value in values})))


def _letter(value: Any) -> str:
    if value is None:
        return "z"
    by_type = {bool: "b", str: "s", int: "n", float: "n", list: "a", dict: "o"}
    return by_type[type(value)]


def _either(schemas: list[SettingSchema]) -> SettingSchema:
    """What any of these takes."""
    if not schemas or any(schema.types == ANY for schema in schemas):
        return SettingSchema()
    texts = [schema for schema in schemas if "s" in schema.types]
    choices = (
        tuple(dict.fromkeys(word for text in texts for word in text.choices)) if all(text.choices for text in texts) else ()
    )
    objects = [schema for schema in schemas if "o" in schema.types]
    lists = [schema for schema in schemas if "a" in schema.types]
    names = dict.fromkeys(name for schema in objects for name in schema.names)
    return SettingSchema(
        "".join(sorted({letter for schema in schemas for letter in schema.types})),
        choices,
        {
            name: _either([schema.member(name) or SettingSchema() for schema in objects if schema.member(name)])
            for name in names
        },
        _either([schema.others for schema in objects if schema.others])
        if any(schema.others for schema in objects)
        else None,
        _either([schema.items or SettingSchema() for schema in lists]) if lists else None,
    )
