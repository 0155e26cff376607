"""One constraint as data, and what a table `[[constraint]]` in `policy.toml` must look like to be one.

    [[constraint]]
    id = "no-prod-writes"              # a-z, 0-9 and -, unique
    severity = "required"              # mandatory: blocked, no approval lifts it; required: held, a person is asked;
                                       # advisory: it runs, and a note to the model is put behind its result
    reason = "Production is changed by people only."
    tool = ["exec", "write"]           # names of tools; globs
    params = { command = "prod" }      # parameter (`a.b`: b inside of a) -> regular expression that its text must contain
    path = ["~/prod/**", "*.pem"]      # the call names or touches such a path (`pathglobs`) ...
    not_path = ["~/prod/tmp/**"]       # ... that is none of these
    effect = ["delete", "message"]     # it does one of these (kinds as in `[[rule]]`); beside `path`: to that path
    agent = ["main"]                   # globs, as are channel and requester; `!main`: any but this one
    channel = ["telegram"]
    requester = ["!owner", "telegram:123"]   # `owner` of the gateway, a sender's id, or `channel:id`
    hours = "22:00-06:00"              # on the gateway's clock, or in `timezone`; may pass midnight
    days = ["sat", "sun"]              # what passes midnight belongs to the day on which it began
    timezone = "Europe/Vienna"
    matches = ["kubectl -n prod apply -f x"]    # examples: commands, or calls `{tool = ..., params = {...}}` that may also
    passes = ["kubectl -n test apply -f x"]     # have agent, channel, requester, cwd, and `at`, a date with a time

All conditions that are there must hold. What is not known of a call (its agent, channel, requester or time) counts as
fitting for mandatory and required ones, so that nothing slips through, and as not fitting for advisory ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, get_args

import msgspec

from toolguard_engine import rulenames
from toolguard_engine.clockhours import DAYS, span_of, zone
from toolguard_engine.redact import UNPRINTABLE
from toolguard_engine.rulecost import dear
from toolguard_engine.ruleform import BadRule, Rule

Severity = Literal["mandatory", "required", "advisory"]
Example = str | dict[str, Any]

MAX_REASON = 400
MAX_TEXT = 1_000
MAX_LIST = 200
MAX_STARS = 20

_ID = re.compile(r"[a-z0-9](?>[a-z0-9-]{0,62})")
_GLOBS = ("tool", "path", "not_path", "agent", "channel", "requester")
_NEGATED = ("agent", "channel", "requester")
_LISTS = (*_GLOBS, "effect", "days")
_EXAMPLES = ("matches", "passes")
_CALL_KEYS = frozenset({"tool", "params", "agent", "channel", "requester", "cwd", "at"})
CONDITIONS = ("tool", "params", "path", "not_path", "effect", "agent", "channel", "requester", "hours", "days")


class Constraint(msgspec.Struct, frozen=True, omit_defaults=True):
    """One table `[[constraint]]`; the fields are its keys, empty where it does not say."""

    id: str
    severity: Severity
    reason: str
    tool: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()
    path: tuple[str, ...] = ()
    not_path: tuple[str, ...] = ()
    effect: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    channel: tuple[str, ...] = ()
    requester: tuple[str, ...] = ()
    hours: str = ""
    days: tuple[str, ...] = ()
    timezone: str = ""
    matches: tuple[Example, ...] = ()
    passes: tuple[Example, ...] = ()


KEYS = Constraint.__struct_fields__


def constraint_from(table: Mapping[str, Any]) -> Constraint:
    """The constraint of one table. Raises `BadRule`."""
    for key in table:
        if key not in KEYS:
            raise BadRule(key, f"unknown key {key!r}")
    made = {key: _value(key, table[key]) for key in table}
    for key, lacks in (("id", "it has no id"), ("severity", "it has no severity"), ("reason", "it has no reason")):
        if not made.get(key):
            raise BadRule(key, lacks)
    if not any(made.get(key) for key in CONDITIONS):
        raise BadRule("", "it has no condition, so it would speak about every call")
    if made.get("timezone") and not (made.get("hours") or made.get("days")):
        raise BadRule("timezone", "timezone means nothing without hours or days")
    if made.get("effect"):
        rulenames.check(Rule(f"user.{made['id']}", made["reason"], effect=made["effect"]))
    return Constraint(**made)


def _value(key: str, value: object) -> Any:
    if key in _LISTS:
        return _list(key, value)
    if key == "params":
        return _params(value)
    if key in _EXAMPLES:
        return _examples(key, value)
    if not isinstance(value, str) or not value.strip():
        raise BadRule(key, f"{key} must be a text")
    return _TEXTS[key](value)


def _id(value: str) -> str:
    if not _ID.fullmatch(value):
        raise BadRule("id", f"the id may have small letters, digits and -, at most 63, not {value!r}")
    return value


def _severity(value: str) -> str:
    if value not in get_args(Severity):
        raise BadRule("severity", f"severity is mandatory, required or advisory, not {value!r}")
    return value


def _reason(value: str) -> str:
    if len(value) > MAX_REASON or UNPRINTABLE.search(value):
        raise BadRule("reason", f"the reason must be one line of at most {MAX_REASON} characters")
    return value.strip()


def _hours(value: str) -> str:
    if span_of(value) is None:
        raise BadRule("hours", f"hours are two different times of a day like 22:00-06:00, not {value!r}")
    return value


def _timezone(value: str) -> str:
    if zone(value) is None:
        raise BadRule("timezone", f"this machine knows no time zone {value!r}")
    return value


_TEXTS = {"id": _id, "severity": _severity, "reason": _reason, "hours": _hours, "timezone": _timezone}


def _list(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise BadRule(key, f"{key} must be a list of texts")
    if len(value) > MAX_LIST:
        raise BadRule(key, f"{key} has more than {MAX_LIST} texts")
    for item in value:
        _item(key, item)
    return tuple(item.strip() for item in value)


def _item(key: str, item: str) -> None:
    if not item.strip("! \t") or len(item) > MAX_TEXT or UNPRINTABLE.search(item):
        raise BadRule(key, f"{key} has a text that is empty, too long or of several lines: {item[:80]!r}")
    if key == "days" and item not in DAYS:
        raise BadRule(key, f"days are {', '.join(DAYS)}, not {item!r}")
    if key in _GLOBS and item.count("*") > MAX_STARS:
        raise BadRule(key, f"{item!r} has more than {MAX_STARS} wildcards")
    if key in ("path", "not_path") and not item.startswith(("/", "~")) and ".." in item.split("/"):
        raise BadRule(key, f"{item!r} fits in any folder, so '..' means nothing in it")
    if item.startswith("!") and key not in _NEGATED:
        raise BadRule(key, f"{key} knows no '!': {item!r}")


def _params(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not value:
        raise BadRule("params", "params must be a table of parameter names and regular expressions")
    return tuple((name, _pattern(name, pattern)) for name, pattern in _flat(value, ""))


def _flat(table: Mapping[str, Any], above: str) -> list[tuple[str, Any]]:
    """`params = { job.command = "x" }` is a table in a table for TOML, and means the same as `"job.command"`."""
    found: list[tuple[str, Any]] = []
    for name, value in table.items():
        found += _flat(value, f"{above}{name}.") if isinstance(value, dict) and value else [(f"{above}{name}", value)]
    return found


def _pattern(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise BadRule("params", f"{name} must be a regular expression")
    if wrong := dear(value):
        raise BadRule("params", f"{name}: {wrong}")
    return value


def _examples(key: str, value: object) -> tuple[Example, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) or _is_call(item) for item in value):
        raise BadRule(
            key,
            f"{key} must be a list of commands or of calls {{tool = ..., params = {{...}}}}, which may have agent, channel, "
            "requester, cwd and at",
        )
    return tuple(value)


def _is_call(item: object) -> bool:
    if not isinstance(item, dict) or not {"tool", "params"} <= item.keys() <= _CALL_KEYS:
        return False
    texts = (value for name, value in item.items() if name not in ("params", "at"))
    moment = item.get("at")
    return (
        isinstance(item["params"], dict)
        and all(isinstance(text, str) for text in texts)
        and (moment is None or isinstance(moment, datetime))
    )
