"""One rule as data, and what a table in TOML must look like to be one. `rulebook` says what the keys mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from toolguard_engine.rulecost import dear

Example = str | dict[str, Any]
"""A command, or a call `{"tool": ..., "params": {...}}`; with `heard` and `read`: texts that were
fetched and read before."""

_TEXTS = ("run", "any", "all", "none", "no_run", "via", "effect", "place", "no_place", "flags", "no_flags", "tool")
_PLACES = ("place", "no_place")
"""Their texts may be empty: a place that nothing is known of."""

_PATTERNS = ("arg", "no_arg", "text")
_NUMBERS = ("clarity", "stakes")
_EXAMPLES = ("matches", "passes")
_MOST = 9


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rule; the fields are the keys of its table, empty where it does not say."""

    id: str
    reason: str
    run: tuple[str, ...] = ()
    no_run: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    arg: str = ""
    no_arg: str = ""
    via: tuple[str, ...] = ()
    effect: tuple[str, ...] = ()
    place: tuple[str, ...] = ()
    no_place: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    no_flags: tuple[str, ...] = ()
    text: str = ""
    tool: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()
    clarity: int = 0
    stakes: int = 0
    verdict: str = ""
    matches: tuple[Example, ...] = ()
    passes: tuple[Example, ...] = ()

    @property
    def pack(self) -> str:
        return self.id.partition(".")[0]


class BadRule(ValueError):  # noqa: N818 - what it is called wherever rules are spoken about
    """A table that is no rule; `key`: which of its keys is wrong; `rule`: its id, as far as it has one."""

    def __init__(self, key: str, message: str, rule: str = "") -> None:
        super().__init__(f"{rule}: {message}" if rule else message)
        self.key = key
        self.rule = rule
        self.message = message


_KEYS = frozenset(Rule.__struct_fields__)


def rule_from(table: Mapping[str, Any], pack: str, speaks: Callable[[Rule, Example], bool] | None = None) -> Rule:
    """The rule of one `[[rule]]` table. Raises `BadRule`. `speaks` tells whether a rule speaks about an example: given,
    every example in `matches` is tried."""
    try:
        return _rule(table, pack, speaks)
    except BadRule as bad:
        name = table.get("id")
        raise BadRule(bad.key, bad.message, name if isinstance(name, str) else "") from bad


def _rule(table: Mapping[str, Any], pack: str, speaks: Callable[[Rule, Example], bool] | None) -> Rule:
    for key in table:
        if key not in _KEYS:
            raise BadRule(key, f"unknown key {key!r}")
    made: dict[str, Any] = {key: _value(key, table[key]) for key in table}
    _named(made, pack)
    if not (made.get("run") or made.get("effect") or made.get("tool")):
        raise BadRule("id", "a rule needs one of run, effect and tool")
    if not made.get("reason", "").strip():
        raise BadRule("reason", "it has no reason that a person is told")
    rule = Rule(**made)
    for example in rule.matches if speaks is not None else ():
        if speaks is not None and not speaks(rule, example):
            raise BadRule("matches", f"the rule does not match its own example {example!r}")
    return rule


def _named(made: Mapping[str, Any], pack: str) -> None:
    name: str = made.get("id", "")
    if not name:
        raise BadRule("id", "it has no id")
    before, _, after = name.partition(".")
    if before != pack or not after or not after.replace("-", "").replace("_", "").isalnum():
        raise BadRule("id", f"the id must be '{pack}.<name>', letters, digits and '-', not {name!r}")


def _value(key: str, value: object) -> object:
    if key in _TEXTS:
        return _texts(key, value)
    if key in _PATTERNS:
        return _pattern(key, value)
    if key in _NUMBERS:
        return _number(key, value)
    if key in _EXAMPLES:
        return _examples(key, value)
    if key == "params":
        return _params(value)
    if not isinstance(value, str):
        raise BadRule(key, f"{key} must be a text")
    if key == "verdict" and value != "block":
        raise BadRule(key, 'the only verdict is "block"; without it clarity and stakes count')
    return value


def _texts(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise BadRule(key, f"{key} must be a list of texts")
    if key not in _PLACES and not all(item.strip() for item in value):
        raise BadRule(key, f"{key} has an empty text")
    return tuple(value)


def _pattern(key: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise BadRule(key, f"{key} must be a regular expression")
    if wrong := dear(value):
        raise BadRule(key, f"{key}: {wrong}")
    return value


def _number(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise BadRule(key, f"{key} must be a whole number from 0 to {_MOST}")
    return value


def _params(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not value:
        raise BadRule("params", "params must be a table of parameter names and regular expressions")
    return tuple((str(name), _pattern("params", pattern)) for name, pattern in value.items())


def _examples(key: str, value: object) -> tuple[Example, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) or _is_call(item) for item in value):
        raise BadRule(key, f"{key} must be a list of commands or of calls {{tool = ..., params = {{...}}}}")
    return tuple(value)


def _is_call(item: object) -> bool:
    if not isinstance(item, dict) or set(item) - {"heard", "read"} != {"tool", "params"}:
        return False
    if not all(isinstance(item.get(name, ""), str) for name in ("heard", "read")):
        return False
    return isinstance(item["tool"], str) and isinstance(item["params"], dict)
