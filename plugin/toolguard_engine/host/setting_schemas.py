"""Which settings a release of OpenClaw refuses: unknown names, values of another type, and what is not among the choices.

Made by `scripts/build_setting_schemas` from what each release prints. It says only what is certain: the gateway may refuse
more. Nothing is known of other releases. A release may still take what an older one took, and turn it into something else,
so only what none of them takes is refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from toolguard_engine import packaged

MADE = "setting_schemas.json"
ANY = ""
MAX_VALUES = 2_000
MAX_NAMES_SHOWN = 12
_WORDS = {"s": "text", "n": "a number", "b": "true or false", "o": "an object", "a": "a list", "z": "null"}
_LETTERS = {str: "s", int: "n", float: "n", bool: "b", dict: "o", list: "a"}


class SettingSchema(msgspec.Struct, array_like=True, omit_defaults=True):
    """One value. `types`: letters, empty if it may be anything; `choices`: of a text; `names`: those of an object, `others`:
    the value of any other name, None if there must be none; `items`: of a list."""

    types: str = ANY
    choices: tuple[str, ...] = ()
    names: dict[str, SettingSchema] = {}
    others: SettingSchema | None = None
    items: SettingSchema | None = None

    def member(self, name: str) -> SettingSchema | None:
        """The value of this name; None if an object must not have it."""
        return self.names.get(name, self.others)


def load() -> None:
    """Reads what the releases say, and the type that it is decoded into."""
    _releases()
    msgspec.json.Decoder(SettingSchema)


@cache
def whole(release: str) -> SettingSchema:
    """The whole config of a release, decoded when it is first asked for: few calls change the config. Raises `KeyError` if
    the release is not known."""
    return msgspec.json.decode(_releases()[release], type=SettingSchema)


def refusal(release: str, path: Sequence[str], value: Any) -> str:
    """Why this release refuses a setting with this value; empty if it may accept it."""
    reason = _reason(whole(release), path, value) if release in _releases() else ""
    return reason if reason and all(_reason(whole(schema), path, value) for schema in _releases()) else ""


@cache
def _releases() -> dict[str, msgspec.Raw]:
    return msgspec.json.decode((packaged.FOLDER / MADE).read_bytes(), type=dict[str, msgspec.Raw])


def _reason(schema: SettingSchema, path: Sequence[str], value: Any) -> str:
    for at, name in enumerate(path):
        if not schema.types or name.startswith("$"):
            return ""
        inner = _inside(schema, name)
        if inner is None:
            return _unknown(path[: at + 1], schema)
        schema = inner
    left = [MAX_VALUES]
    return _refused(schema, list(path), value, left)


def _inside(schema: SettingSchema, name: str) -> SettingSchema | None:
    if "a" in schema.types and name.isdecimal():
        return schema.items or SettingSchema()
    return schema.member(name) if "o" in schema.types else SettingSchema()


def _unknown(path: Sequence[str], schema: SettingSchema) -> str:
    near = difflib.get_close_matches(path[-1], schema.names, 1, 0.75)
    names = ", ".join(sorted(schema.names)[:MAX_NAMES_SHOWN])
    return f"{'.'.join(path)} is no setting; {f'did you mean {near[0]}?' if near else f'there are {names}'}"


def _refused(schema: SettingSchema, path: list[str], value: Any, left: list[int]) -> str:
    left[0] -= 1
    letter = _LETTERS.get(type(value), "")
    if not schema.types or not letter or left[0] < 0 or (isinstance(value, str) and "${" in value):
        return ""
    if letter not in schema.types:
        words = " or ".join(_WORDS[kind] for kind in schema.types if kind != "z")
        return f"{'.'.join(path)} must be {words}"
    if isinstance(value, str) and schema.choices and value not in schema.choices:
        return f"{'.'.join(path)} must be one of {', '.join(schema.choices[:MAX_NAMES_SHOWN])}"
    if isinstance(value, list):
        items = schema.items or SettingSchema()
        reasons = (_refused(items, [*path, str(at)], item, left) for at, item in enumerate(value))
        return next(filter(None, reasons), "")
    if isinstance(value, dict) and "$include" not in value:
        return next(filter(None, (_of_name(schema, path, name, item, left) for name, item in value.items())), "")
    return ""


def _of_name(schema: SettingSchema, path: list[str], name: str, value: Any, left: list[int]) -> str:
    inner = schema.member(name)
    if inner is None:
        return "" if name.startswith("$") else _unknown([*path, name], schema)
    return _refused(inner, [*path, name], value, left)
