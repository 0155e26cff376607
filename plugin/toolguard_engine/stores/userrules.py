"""A person's own rules: the tables `[[rule]]` of `<state dir>/toolguard/policy.toml`, in the form of the packs (`rulebook`).

`owntables` says how they are read. An id without a pack belongs to the pack `user`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from toolguard_engine import rulenames
from toolguard_engine.rulebook import BadRule, Example, Rule, rule_from
from toolguard_engine.stores import owntables
from toolguard_engine.stores.owntables import BadRules, Form, OwnTables

__all__ = ["BadRules", "Placed", "UserRules", "parse"]

TABLE = "rule"
PACK = "user"
MAX_RULES = 1_000
_KEYS = "run, any, all, none, no_run, arg, no_arg, via, effect, place, no_place, flags, no_flags, text, tool, params"
_PATTERNS = ("arg", "no_arg", "text")
_ADDS = 'add clarity = 2 and stakes = 3 to hold such calls, or verdict = "block" to block them for good'
_MENDS = {
    "id": 'name it like id = "no-deploy", and say what it is about: run = ["git push"], effect = [...] or tool = [...]',
    "reason": 'add a reason, a sentence that says what is risky: reason = "It publishes the site."',
    "verdict": _ADDS,
    "run": 'name the program and its sub-commands: run = ["git push", "docker|podman rm"]',
    "effect": 'write one of the known kinds, like effect = ["delete", "send"]',
    "place": 'write one of the known places, like place = ["home", "credentials"]',
    "no_place": 'write one of the known places, like no_place = ["temp", "artefact"]',
    "flags": 'write flags that are known, like flags = ["recursive"]',
    "no_flags": 'write flags that are known, like no_flags = ["filtered"]',
    "via": 'name wrappers around the program, like via = ["sudo", "xargs"]',
    "clarity": "write a whole number like clarity = 2",
    "stakes": "write a whole number like stakes = 3",
    "matches": "change the example, or what the rule asks for",
    "params": 'write it like params = { path = "^/srv/" }',
    "": f"a rule may have: id, reason, {_KEYS}, clarity, stakes, verdict, matches, passes",
}

Speaks = Callable[[Rule, Example], bool]
Placed = owntables.Placed[Rule]
NOTHING = "it changes nothing"


class UserRules(OwnTables[Rule]):
    """The rules of one state directory. The file is read again when it was changed."""

    def __init__(self, state_dir: Path) -> None:
        super().__init__(state_dir, _form)

    def rules(self) -> tuple[Rule, ...]:
        """In the order of the file. Raises `BadRules`, `StoreError`."""
        return self.all()

    def placed(self, speaks: Speaks | None = None) -> list[Placed]:
        """The rules, read anew; with `speaks` (see `rulebook.rule_from`) their examples are tried. Raises as `rules`."""
        return self.read(_form(speaks))


def parse(table: Mapping[str, Any], text: str, path: Path, speaks: Speaks | None = None) -> list[Placed]:
    """The rules of a policy that says `table`; `text` and `path` are for places. Raises `BadRules`."""
    return owntables.parse(table, text, path, _form(speaks))


def _form(speaks: Speaks | None = None) -> Form[Rule]:
    return Form(TABLE, MAX_RULES, partial(_rule, speaks=speaks), _mend)


def _rule(table: dict[str, Any], *, speaks: Speaks | None) -> Rule:
    named = _named(table)
    rule = rule_from(named, _pack(named))
    rulenames.check(rule)
    if speaks is not None:
        rule_from(named, _pack(named), speaks)
    if not (rule.clarity or rule.stakes or rule.verdict):
        raise BadRule("", NOTHING)
    return rule


def _named(table: dict[str, Any]) -> dict[str, Any]:
    name = table.get("id")
    return {**table, "id": f"{PACK}.{name}"} if isinstance(name, str) and name and "." not in name else table


def _pack(table: Mapping[str, Any]) -> str:
    name = table.get("id")
    return name.partition(".")[0] or PACK if isinstance(name, str) else PACK


def _mend(bad: BadRule, table: Mapping[str, Any], unknown: bool) -> str:  # noqa: FBT001 - as `Form` has it
    if bad.message == NOTHING:
        return _ADDS
    if unknown:
        near = rulenames.nearest(bad.key, Rule.__struct_fields__)
        return f"did you mean {near}? {_MENDS['']}" if near else _MENDS[""]
    if bad.key == "id" and not table.get("id"):
        return 'add an id, a name of your own: id = "no-deploy"'
    if bad.key == "verdict" and table.get("verdict") == "block":
        return "take them out; or take verdict out, so that such calls are held and a person is asked"
    return _MENDS.get(bad.key) or _usual(bad.key)


def _usual(key: str) -> str:
    return f"mend the regular expression of {key}" if key in _PATTERNS else f'write it like {key} = ["..."]'
