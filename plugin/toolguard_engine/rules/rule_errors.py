"""What a person should write where a table of `policy.toml` is no rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from toolguard_engine.model.clock_hours import DAYS
from toolguard_engine.rules import vocabulary
from toolguard_engine.rules.rule_form import KEYS, InvalidRuleError, Severity

NO_EFFECT = "it changes nothing"
_PATTERNS = ("arg", "no_arg", "text", "unless")
_ADDS = (
    'add clarity = 2 and stakes = 3 to hold such calls, verdict = "block" to block them always, or a severity: mandatory, '
    "required or advisory"
)
_EXAMPLE = "change the example, or what the rule asks for"
_FIXES = {
    "reason": 'add a reason, a sentence that says what is risky: reason = "It publishes the site."',
    "verdict": _ADDS,
    "severity": 'write severity = "mandatory" (blocked), "required" (a person is asked) or "advisory" (a note)',
    "run": 'name the program and its subcommands: run = ["git push", "docker|podman rm"]',
    "effect": 'write one of the known kinds, like effect = ["delete", "send"]',
    "place": 'write one of the known places, like place = ["home", "credentials"]',
    "no_place": 'write one of the known places, like no_place = ["temp", "artefact"]',
    "flags": 'use known flags, like flags = ["recursive"]',
    "no_flags": 'use known flags, like no_flags = ["filtered"]',
    "via": 'name wrappers around the program, like via = ["sudo", "xargs"]',
    "clarity": "write a whole number like clarity = 2",
    "stakes": "write a whole number like stakes = 3",
    "params": 'write it like params = { path = "^/srv/" }, or params = { "job.command" = "prod" } for what is inside',
    "hours": 'write it like hours = "22:00-06:00"; for the whole day leave it out',
    "days": f'write some of {", ".join(DAYS)}, like days = ["sat", "sun"]',
    "timezone": 'name one like timezone = "Europe/Vienna" next to hours or days, or leave it out: the gateway\'s own clock',
    "matches": _EXAMPLE,
    "passes": _EXAMPLE,
}
_CONDITION = (
    'name it like id = "no-deploy", and say what it is about: run = ["git push"], effect = [...], tool = [...], '
    'path = ["~/prod/**"] ...; tool = ["*"] if you mean all'
)
_KEYS = f"a rule may have: {', '.join(KEYS)}"


def fix_of(bad: InvalidRuleError, table: Mapping[str, Any]) -> str:
    """What to do about it, for a person."""
    if bad.message == NO_EFFECT:
        return _ADDS
    if bad.message.startswith("unknown key"):
        near = vocabulary.nearest(bad.key, KEYS)
        return f"did you mean {near}?" if near else _KEYS
    if bad.key == "id":
        return _CONDITION if table.get("id") else 'add an id, a name of your own: id = "no-deploy"'
    if bad.key == "severity" and isinstance(table.get("severity"), str):
        return _meant(table["severity"], get_args(Severity), _FIXES["severity"])
    if bad.key == "verdict" and table.get("verdict") == "block":
        return "remove them; or remove verdict, so that such calls are held for approval"
    usual = f"correct the regular expression of {bad.key}" if bad.key in _PATTERNS else f'write it like {bad.key} = ["..."]'
    return _FIXES.get(bad.key) or usual


def _meant(name: str, known: tuple[str, ...], otherwise: str) -> str:
    near = vocabulary.nearest(name, known) if name not in known else ""
    return f"did you mean {near}? {otherwise}" if near else otherwise
