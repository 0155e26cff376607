"""The rules that come with toolguard: TOML packs for people, and one JSON file, made from them, for the engine.

A pack is `rules/<pack>.toml`: a list of `[[rule]]` tables, and on top of it perhaps `none = [...]`, which is added to the
`none` of each rule with `run`, and lists of words `words.x = [...]`, which `$x` stands for: in `run` as alternatives, in
any other list as its items; in `no_run`, `$role` stands for the programs of a role. A table `principle` in a rule is for
`effects.programs.principles`. The JSON file leaves out the examples. `scripts/build_manifest` writes it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from toolguard_engine import lazy_re, packaged
from toolguard_engine.effects.control_plane import verb_catalogue
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.programs import principles
from toolguard_engine.rules.rulebook import InvalidRuleError, Rule, Rulebook, rule_from

_NAMED = lazy_re.compile(r"\$([a-z]++)")


@cache
def load() -> Rulebook:
    """The book of all packs, without examples, from the file that is fast to read. The catalogue of the control plane, which
    their effects come from, is read with it: no call waits for the disk."""
    verb_catalogue.load()
    rules = msgspec.json.decode(packaged.FOLDER.joinpath("rules.json").read_bytes(), type=tuple[Rule, ...])
    return Rulebook(rules, shipped=len(rules))


def packs() -> dict[str, tuple[Rule, ...]]:
    """All packs with their examples, from TOML, by name. Raises `InvalidRuleError` for the first bad rule."""
    names = sorted(file.name for file in packaged.FOLDER.joinpath("rules").iterdir() if file.name.endswith(".toml"))
    return {name[:-5]: pack(packaged.FOLDER.joinpath("rules", name).read_text("utf-8"), name[:-5]) for name in names}


def pack(text: str, name: str) -> tuple[Rule, ...]:
    """The rules of one pack. Raises `InvalidRuleError`, and `tomllib.TOMLDecodeError` where the text is no TOML."""
    table = tomllib.loads(text)
    for key in table:
        if key not in ("rule", "none", "words"):
            raise InvalidRuleError(
                key, f"unknown key {key!r}; a pack has [[rule]] tables, and optionally the keys 'none' and 'words'"
            )
    words, none = table.get("words", {}), table.get("none", [])
    rules = tuple(rule_from(_filled_in(rule, none, words), name) for rule in table.get("rule", []))
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise InvalidRuleError("id", f"there are two rules with the id {rule.id!r}")
        seen.add(rule.id)
    return rules


def encode(rules: Iterable[Rule]) -> str:
    """The JSON file of these rules: one rule a line, nothing that is empty, no examples."""
    lines = (msgspec.json.encode(msgspec.structs.replace(rule, matches=(), passes=())).decode() for rule in rules)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _filled_in(rule: Mapping[str, Any], none: list[str], words: Mapping[str, list[str]]) -> Mapping[str, Any]:
    """A rule with the pack's `none` and `words` in it; what is no list of texts is left for `rule_from` to refuse."""
    rule = {key: value for key, value in rule.items() if key != principles.KEY}
    filled = {key: _expanded(key, value, words) for key, value in rule.items()} if words else dict(rule)
    if none and "run" in filled:
        filled["none"] = [*filled.get("none", []), *none]
    return filled


def _expanded(key: str, value: Any, words: Mapping[str, list[str]]) -> Any:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return value
    if key == "run":
        return [_NAMED.sub(lambda named: "|".join(words[named[1]]), item) for item in value]
    return [one for item in value for one in (_items(key, item, words) if item.startswith("$") else [item])]


def _items(key: str, item: str, words: Mapping[str, list[str]]) -> Iterable[str]:
    if key == "no_run" and item[1:] not in words:
        return sorted(program_catalogue.load().programs.get(item[1:], [item]))
    return words.get(item[1:], [item])
