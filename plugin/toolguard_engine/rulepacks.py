"""The rules that come with toolguard: TOML packs for people, and one JSON file, made from them, for the engine.

A pack is `rules/<pack>.toml`: a list of `[[rule]]` tables, and on top of it perhaps `none = [...]`, which is added to the
`none` of each rule with `run`. The JSON file leaves out the examples. `scripts/build_manifest` writes it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

import msgspec

from toolguard_engine import toolacts
from toolguard_engine.rulebook import BadRule, Example, Rule, Rulebook, rule_from
from toolguard_engine.shell.effects import effects
from toolguard_engine.shell.places import Where
from toolguard_engine.shell.unwrap import read
from toolguard_engine.toolsearch import tool_name

_THERE = Where("/home/ada", "/home/ada/work", "/home/ada/work", "/home/ada/.openclaw")
_DATA = files("toolguard_manifests")


def load() -> Rulebook:
    """The book of all packs, without examples, from the file that is fast to read."""
    return Rulebook(msgspec.json.decode(_DATA.joinpath("rules.json").read_bytes(), type=tuple[Rule, ...]))


def packs() -> dict[str, tuple[Rule, ...]]:
    """All packs with their examples, from TOML, by name. Raises `BadRule` for the first bad rule."""
    found = sorted(file.name for file in _DATA.joinpath("rules").iterdir() if file.name.endswith(".toml"))
    return {name[:-5]: pack(_DATA.joinpath("rules", name).read_text("utf-8"), name[:-5]) for name in found}


def pack(text: str, name: str) -> tuple[Rule, ...]:
    """The rules of one pack. Raises `BadRule`, and `tomllib.TOMLDecodeError` where the text is no TOML."""
    table = tomllib.loads(text)
    for key in table:
        if key not in ("rule", "none"):
            raise BadRule(key, f"unknown key {key!r}; a pack has [[rule]] tables and perhaps none")
    rules = tuple(rule_from(_with_none(rule, table.get("none", [])), name) for rule in table.get("rule", []))
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise BadRule("id", f"there are two rules with the id {rule.id!r}")
        seen.add(rule.id)
    return rules


def encode(rules: Iterable[Rule]) -> str:
    """The JSON file of these rules: one rule a line, nothing that is empty, no examples."""
    lines = (msgspec.json.encode(_filled(replace(rule, matches=(), passes=()))).decode() for rule in rules)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def speaks(rule: Rule, example: Example) -> bool:
    """Whether a rule speaks about one of its examples, told of a person's home and a workspace in it."""
    book = Rulebook((rule,))
    if isinstance(example, str):
        reading = read(example)
        return bool(book.for_command(reading, effects(reading, _THERE)))
    tool = tool_name(example["tool"])
    return bool(book.for_call(tool, example["params"], toolacts.effects(example["tool"], example["params"], _THERE)))


def _with_none(rule: Mapping[str, Any], none: list[str]) -> Mapping[str, Any]:
    if not none or "run" not in rule:
        return rule
    return {**rule, "none": [*rule.get("none", []), *none]}


def _filled(rule: Rule) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(rule).items() if value}
