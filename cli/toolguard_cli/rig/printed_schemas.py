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
        found = json.loads(done.stdout)
    except ValueError:
        raise UserError("OpenClaw prints no schema of its config", done.stderr[-500:]) from None
    return dict(found)


def shortened(schema: dict[str, Any]) -> SettingSchema:
    """The whole config."""
    found = _short(schema)
    for name in LEFT_OUT:
        found.names[name] = SettingSchema()
    return found


def _short(schema: Any) -> SettingSchema:
    if not isinstance(schema, dict) or not _UNREAD.isdisjoint(schema):
        return SettingSchema()
    for word in _ALTERNATIVES:
        if word in schema:
            return _either([_short(each) for each in schema[word]])
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        texts = tuple(each for each in values if isinstance(each, str))
        return SettingSchema("".join(sorted({_letter(each) for each in values})), texts) if texts else _of_values(values)
    kinds = schema.get("type")
    letters = "".join(sorted({_TYPES[each] for each in (kinds if isinstance(kinds, list) else [kinds] if kinds else [])}))
    if not letters:
        return SettingSchema()
    more = schema.get("additionalProperties", True)
    others = _short(more) if isinstance(more, dict) else SettingSchema() if more else None
    items = schema.get("items")
    return SettingSchema(
        letters,
        (),
        {name: _short(each) for name, each in schema.get("properties", {}).items()},
        others if "o" in letters else None,
        _short(items) if isinstance(items, dict) else SettingSchema(),
    )


def _of_values(values: list[Any]) -> SettingSchema:
    return SettingSchema("".join(sorted({_letter(each) for each in values})))


def _letter(value: Any) -> str:
    if value is None:
        return "z"
    by_type = {bool: "b", str: "s", int: "n", float: "n", list: "a", dict: "o"}
    return by_type[type(value)]


def _either(found: list[SettingSchema]) -> SettingSchema:
    """What any of these takes."""
    if not found or any(each.types == ANY for each in found):
        return SettingSchema()
    texts = [each for each in found if "s" in each.types]
    choices = (
        tuple(dict.fromkeys(word for each in texts for word in each.choices)) if all(each.choices for each in texts) else ()
    )
    objects = [each for each in found if "o" in each.types]
    lists = [each for each in found if "a" in each.types]
    names = dict.fromkeys(name for each in objects for name in each.names)
    return SettingSchema(
        "".join(sorted({letter for each in found for letter in each.types})),
        choices,
        {name: _either([each.of(name) or SettingSchema() for each in objects if each.of(name)]) for name in names},
        _either([each.others for each in objects if each.others]) if any(each.others for each in objects) else None,
        _either([each.items or SettingSchema() for each in lists]) if lists else None,
    )
