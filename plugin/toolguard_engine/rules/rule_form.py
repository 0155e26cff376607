"""One rule as data, and what a table in TOML must look like to be one. `docs/rules.md` says what the keys mean.

A rule says which calls it is about, and what becomes of them: it adds to their score (`clarity`, `stakes`), blocks them
(`verdict`), or decides by itself (`severity`), whatever the score is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal, get_args

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.model.clock_hours import DAYS, span_of, zone
from toolguard_engine.rules.patterns import why_refused
from toolguard_engine.wording.redact import UNPRINTABLE

Severity = Literal["mandatory", "required", "advisory"]
"""mandatory: blocked, no approval lifts it; required: held; advisory: it runs, with a note to the model."""

Example = str | dict[str, Any]
"""A command, or a call `{"tool": ..., "params": {...}}`, which may have agent, channel, requester, cwd and `at`; with
`heard` and `read`: texts that were fetched and read before; `unread`: a file that an agent made and that cannot be read."""

SEVERITY_PACK = "constraint"
"""What the codes of rules with a severity begin with, as they did when each of them was a table `[[constraint]]`."""

MAX_REASON = 400
MAX_TEXT = 1_000
MAX_LIST = 200
MAX_STARS = 20

_PROGRAM = ("any", "all", "none", "no_run", "arg", "no_arg", "unless", "via")
_EFFECT = ("place", "no_place", "flags", "no_flags", "text")
_WHO = ("agent", "channel", "requester")
_GLOBS = ("path", "not_path", *_WHO)
_CIRCUMSTANCES = (*_GLOBS, "hours", "days")
CONDITIONS = ("run", "effect", "tool", "params", *_CIRCUMSTANCES)
"""Each of these says by itself which calls a rule is about; the other keys narrow that down."""

_PLACES = ("place", "no_place")
"""Their texts may be empty: a place that nothing is known of."""

_MOST = 9
MIN_WAIT, MAX_WAIT = 60, 24 * 3_600
_WAIT = lazy_re.compile(r"(\d{1,5})([smhd])", re.ASCII)
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SEVERITY_ID = lazy_re.compile(rf"{SEVERITY_PACK}\.[a-z0-9](?>[a-z0-9-]{{0,62}})")
_WILD = lazy_re.compile(r"[*?]")
_EXEC = frozenset({"exec", "bash", "shell"})
_CALL_TEXTS = ("tool", *_WHO, "cwd", "heard", "read", "unread")


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
    unless: str = ""
    tool: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()
    path: tuple[str, ...] = ()
    not_path: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    channel: tuple[str, ...] = ()
    requester: tuple[str, ...] = ()
    hours: str = ""
    days: tuple[str, ...] = ()
    timezone: str = ""
    clarity: int = 0
    stakes: int = 0
    verdict: str = ""
    severity: str = ""
    pending_timeout: int = 0
    matches: tuple[Example, ...] = ()
    passes: tuple[Example, ...] = ()

    @property
    def pack(self) -> str:
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        """The id as a person writes it."""
        return self.id.removeprefix(f"{SEVERITY_PACK}." if self.severity else "user.")

    @property
    def code(self) -> str:
        """What the verdict is called where this rule decides."""
        return self.id if self.severity else f"rule.{self.id}"

    @property
    def needs_view(self) -> bool:
        """Whether it asks about more than programs, effects and a tool by its name: `layers.constraints` answers that."""
        if self.severity or any_of(self, _CIRCUMSTANCES):
            return True
        exec_or_glob = any(name.lower() in _EXEC or _WILD.search(name) for name in self.tool) and not self.run
        return (
            exec_or_glob
            or any("." in name or name == "*" for name, _ in self.params)
            or not (self.run or self.effect or self.tool)
        )

    @property
    def of_programs(self) -> Rule | None:
        """What it asks of programs and effects, without the rest; None where that is at most a kind of effect."""
        if not any_of(self, ("run", *_PROGRAM, *_EFFECT)):
            return None
        return Rule(self.id, self.reason, **{key: getattr(self, key) for key in ("run", "effect", *_PROGRAM, *_EFFECT)})


def any_of(rule: Rule, keys: tuple[str, ...]) -> bool:
    return any(getattr(rule, key) for key in keys)


class InvalidRuleError(ValueError):
    """A table that is no rule; `key`: which of its keys is wrong; `rule`: its id, as far as it has one."""

    def __init__(self, key: str, message: str, rule: str = "") -> None:
        super().__init__(f"{rule}: {message}" if rule else message)
        self.key = key
        self.rule = rule
        self.message = message


KEYS = Rule.__struct_fields__


def rule_from(table: Mapping[str, Any], pack: str) -> Rule:
    """The rule of one `[[rule]]` table. Raises `InvalidRuleError`."""
    try:
        return _rule(table, pack)
    except InvalidRuleError as bad:
        name = table.get("id")
        raise InvalidRuleError(bad.key, bad.message, name if isinstance(name, str) else "") from bad


def try_examples(rule: Rule, speaks: Callable[[Rule, Example], bool]) -> None:
    """Raises `InvalidRuleError` for an example that turns out otherwise. That no rule at all holds what `passes`, which is
    what rules without a severity promise, cannot be tried here."""
    for example in rule.matches:
        if not speaks(rule, example):
            raise InvalidRuleError("matches", f"the rule does not match its own example {example!r}", rule.id)
    for example in rule.passes if rule.severity else ():
        if speaks(rule, example):
            raise InvalidRuleError("passes", f"it matches {example!r}, which should pass", rule.id)


def _rule(table: Mapping[str, Any], pack: str) -> Rule:
    for key in table:
        if key not in KEYS:
            raise InvalidRuleError(key, f"unknown key {key!r}")
    made: dict[str, Any] = {key: _READERS[key](key, value) for key, value in table.items()}
    _named(made, pack)
    if not any(made.get(key) for key in CONDITIONS):
        raise InvalidRuleError(
            "id", "a rule needs one of run, effect and tool, or another condition; otherwise it would match every call"
        )
    if made.get("unless") and not (made.get("arg") or made.get("effect")):
        raise InvalidRuleError("unless", "unless has no effect without arg or effect")
    if not made.get("reason", "").strip():
        raise InvalidRuleError("reason", "it has no reason to show to a person")
    if "pending_timeout" in made and (made.get("verdict") or made.get("severity") not in (None, "required")):
        raise InvalidRuleError("pending_timeout", "it has no effect: this rule does not hold any calls")
    if made.get("timezone") and not (made.get("hours") or made.get("days")):
        raise InvalidRuleError("timezone", "timezone has no effect without hours or days")
    rule = Rule(**made)
    if rule.severity:
        _decides(rule)
    if rule.needs_view:
        _whole(rule)
    return rule


def _named(made: Mapping[str, Any], pack: str) -> None:
    name: str = made.get("id", "")
    if not name:
        raise InvalidRuleError("id", "it has no id")
    if "severity" in made:
        if not _SEVERITY_ID.fullmatch(name):
            bare_id = name.removeprefix(f"{SEVERITY_PACK}.")
            raise InvalidRuleError(
                "id", f"with a severity, the id must be 1 to 63 lowercase letters, digits and -, not {bare_id!r}"
            )
        return
    before, _, after = name.partition(".")
    if before != pack or not after or not after.replace("-", "").replace("_", "").isalnum():
        raise InvalidRuleError("id", f"the id must be '{pack}.<name>', a name of letters, digits and '-', not {name!r}")


def _decides(rule: Rule) -> None:
    if rule.clarity or rule.stakes or rule.verdict:
        raise InvalidRuleError("severity", "it alone decides, so clarity, stakes and verdict have no effect")
    if len(rule.reason) > MAX_REASON or UNPRINTABLE.search(rule.reason):
        raise InvalidRuleError("reason", f"the reason must be one line of at most {MAX_REASON} characters")


def _whole(rule: Rule) -> None:
    """A narrowing key without what it narrows would never hold."""
    for keys, needed in ((_PROGRAM, ("run", "effect")), (_EFFECT, ("effect",))):
        for key in keys:
            if getattr(rule, key) and not any_of(rule, needed):
                raise InvalidRuleError(key, f"{key} has no effect without {' or '.join(needed)}")


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidRuleError(key, f"{key} must be a string")
    return value.strip() if key == "reason" else value


def _verdict(key: str, value: object) -> str:
    if _text(key, value) != "block":
        raise InvalidRuleError(key, 'the only verdict is "block"; without it clarity and stakes count')
    return "block"


def _severity(key: str, value: object) -> str:
    if value not in get_args(Severity):
        raise InvalidRuleError(key, f"severity is mandatory, required or advisory, not {value!r}")
    return str(value)


def _hours(key: str, value: object) -> str:
    text = _text(key, value)
    if span_of(text) is None:
        raise InvalidRuleError(key, f"hours are two different times of a day like 22:00-06:00, not {value!r}")
    return text


def _timezone(key: str, value: object) -> str:
    text = _text(key, value)
    if zone(text) is None:
        raise InvalidRuleError(key, f"unknown time zone {value!r}")
    return text


def _wait(key: str, value: object) -> int:
    """Seconds."""
    match = _WAIT.fullmatch(value.strip()) if isinstance(value, str) else None
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    if not MIN_WAIT <= seconds <= MAX_WAIT:
        raise InvalidRuleError(key, f"{key} is how long a call waits, from 1m to 24h, not {value!r}")
    return seconds


def _texts(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise InvalidRuleError(key, f"{key} must be a list of strings")
    if key not in _PLACES and not all(item.strip() for item in value):
        raise InvalidRuleError(key, f"{key} has an empty string")
    return tuple(value)


def _globs(key: str, value: object) -> tuple[str, ...]:
    """Bounded, because each of them is tried on each call."""
    texts = _texts(key, value)
    if len(texts) > MAX_LIST:
        raise InvalidRuleError(key, f"{key} has more than {MAX_LIST} strings")
    for item in texts:
        _glob(key, item)
    return tuple(item.strip() for item in texts)


def _glob(key: str, item: str) -> None:
    if not item.strip("! \t") or len(item) > MAX_TEXT or UNPRINTABLE.search(item):
        raise InvalidRuleError(key, f"{key} has a string that is empty, too long or spans several lines: {item[:80]!r}")
    if item.count("*") > MAX_STARS:
        raise InvalidRuleError(key, f"{item!r} has more than {MAX_STARS} wildcards")
    if key in ("path", "not_path") and not item.startswith(("/", "~")) and ".." in item.split("/"):
        raise InvalidRuleError(key, f"{item!r} matches in any folder, so '..' has no effect in it")
    if item.startswith("!") and key not in _WHO:
        raise InvalidRuleError(key, f"{key} does not support '!': {item!r}")


def _days(key: str, value: object) -> tuple[str, ...]:
    texts = _texts(key, value)
    for item in texts:
        if item not in DAYS:
            raise InvalidRuleError(key, f"days are {', '.join(DAYS)}, not {item!r}")
    return texts


def _pattern(key: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidRuleError(key, f"{key} must be a regular expression")
    if wrong := why_refused(value):
        raise InvalidRuleError(key, f"{key}: {wrong}")
    return value


def _number(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise InvalidRuleError(key, f"{key} must be a whole number from 0 to {_MOST}")
    return value


def _params(key: str, value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not value:
        raise InvalidRuleError(key, "params must be a table of parameter names and regular expressions")
    return tuple((name, _pattern(key, pattern)) for name, pattern in _flat(value, ""))


def _flat(table: Mapping[str, Any], above: str) -> list[tuple[str, Any]]:
    """`params = { job.command = "x" }` is a table in a table for TOML, and means the same as `"job.command"`."""
    members: list[tuple[str, Any]] = []
    for name, value in table.items():
        members += _flat(value, f"{above}{name}.") if isinstance(value, dict) and value else [(f"{above}{name}", value)]
    return members


def _examples(key: str, value: object) -> tuple[Example, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) or _is_call(item) for item in value):
        raise InvalidRuleError(
            key,
            f"{key} must be a list of commands or of calls {{tool = ..., params = {{...}}}}, which may have agent, channel, "
            "requester, cwd and at",
        )
    return tuple(value)


def _is_call(item: object) -> bool:
    if not isinstance(item, dict) or not {"tool", "params"} <= item.keys() <= {"params", "at", *_CALL_TEXTS}:
        return False
    return (
        isinstance(item["params"], dict)
        and all(isinstance(item.get(name, ""), str) for name in _CALL_TEXTS)
        and isinstance(item.get("at"), datetime | None)
    )


_READERS: dict[str, Callable[[str, object], Any]] = {
    **dict.fromkeys(("id", "reason"), _text),
    **dict.fromkeys(("run", "any", "all", "none", "no_run", "via"), _texts),
    **dict.fromkeys(("effect", "place", "no_place", "flags", "no_flags"), _texts),
    **dict.fromkeys(("tool", *_GLOBS), _globs),
    **dict.fromkeys(("arg", "no_arg", "text", "unless"), _pattern),
    **dict.fromkeys(("clarity", "stakes"), _number),
    **dict.fromkeys(("matches", "passes"), _examples),
    "params": _params, "hours": _hours, "days": _days, "timezone": _timezone, "verdict": _verdict, "severity": _severity,
    "pending_timeout": _wait,
}  # fmt: skip
