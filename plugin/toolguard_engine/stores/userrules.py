"""A person's own rules: the tables `[[rule]]` of `<state dir>/toolguard/policy.toml`, in the form of the packs (`rulebook`).

The law: a rule of one's own only ever holds or blocks more, so it needs no signature; and one that cannot be understood is
an error that names its place, never a rule that is left out. An id without a pack belongs to the pack `user`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from toolguard_engine import rulenames
from toolguard_engine.redact import UNPRINTABLE
from toolguard_engine.rulebook import BadRule, Example, Rule, rule_from
from toolguard_engine.stores import files, tomlfile
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.policy import NAME
from toolguard_engine.stores.tomlfile import At, NoToml, Places, Stamp, stamp_of

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


class BadRules(StoreError):  # noqa: N818 - named for the condition, like its family
    """A rule cannot be understood; the text names file, line, column, what is wrong, and how to mend it."""

    code = "policy.bad-rule"

    def __init__(self, path: Path, at: At, said: str, mend: str) -> None:
        where = f", line {at.line}" if at.line else ""
        where += f", column {at.column}" if at.line and at.column else ""
        super().__init__(UNPRINTABLE.sub("?", f"{path}{where}: {said}; {mend}"))
        self.path, self.at, self.said, self.mend = path, at, said, mend


@dataclass(frozen=True)
class Placed:
    """A rule and where it stands."""

    rule: Rule
    at: At


class UserRules:
    """The rules of one state directory. The file is read again when it was changed."""

    def __init__(self, state_dir: Path) -> None:
        self.path = files.own_folder(state_dir) / NAME
        self._stamp: Stamp | None = None
        self._known: tuple[Rule, ...] | BadRules = ()

    def rules(self) -> tuple[Rule, ...]:
        """In the order of the file. Raises `BadRules`, `StoreError`."""
        stamp = stamp_of(self.path)
        if stamp is None:
            self._stamp, self._known = None, ()
        elif stamp != self._stamp:
            try:
                self._known = tuple(placed.rule for placed in self.placed())
            except BadRules as error:
                self._known = error
            self._stamp = stamp
        if isinstance(self._known, BadRules):
            raise self._known.with_traceback(None)
        return self._known

    def placed(self, speaks: Speaks | None = None) -> list[Placed]:
        """The rules, read anew; with `speaks` (see `rulebook.rule_from`) their examples are tried. Raises as `rules`."""
        try:
            text = tomlfile.text_of(self.path)
            table = tomlfile.load(text)
        except NoToml as error:
            raise BadRules(self.path, At(error.line, error.column), str(error), error.mend) from error
        return parse(table, text, self.path, speaks)


def parse(table: Mapping[str, Any], text: str, path: Path, speaks: Speaks | None = None) -> list[Placed]:
    """The rules of a policy that says `table`; `text` and `path` are for places. Raises `BadRules`."""
    tables = table.get(TABLE, [])
    places = Places(text, TABLE) if tables else Places("", TABLE)
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise BadRules(path, At(), "rule is not a list of tables", "write each rule as [[rule]]")
    if len(tables) > MAX_RULES:
        raise BadRules(path, places.table(MAX_RULES), f"there are more than {MAX_RULES} rules", "put some of them together")
    found: list[Placed] = []
    for number, each in enumerate(tables):
        rule = _rule(each, number, places, path, speaks)
        first = next((placed for placed in found if placed.rule.id == rule.id), None)
        if first is not None:
            twice = f"the id {rule.id} stands in line {first.at.line} already"
            raise BadRules(path, places.value(number, "id"), twice, "give one of them another id")
        found.append(Placed(rule, places.table(number)))
    return found


def _rule(table: dict[str, Any], number: int, places: Places, path: Path, speaks: Speaks | None) -> Rule:
    named = _named(table)
    try:
        rule = rule_from(named, _pack(named))
        rulenames.check(rule)
        if speaks is not None:
            rule_from(named, _pack(named), speaks)
    except BadRule as bad:
        _explain(bad, table, number, places, path)
    if not (rule.clarity or rule.stakes or rule.verdict):
        raise BadRules(path, places.table(number), f"the rule {rule.id} changes nothing", _ADDS)
    return rule


def _named(table: dict[str, Any]) -> dict[str, Any]:
    name = table.get("id")
    return {**table, "id": f"{PACK}.{name}"} if isinstance(name, str) and name and "." not in name else table


def _pack(table: Mapping[str, Any]) -> str:
    name = table.get("id")
    return name.partition(".")[0] or PACK if isinstance(name, str) else PACK


def _explain(bad: BadRule, table: Mapping[str, Any], number: int, places: Places, path: Path) -> NoReturn:
    key = bad.key if bad.key in table else ""
    unknown = bad.message.startswith("unknown key")
    at = places.key(number, bad.key) if unknown or not key else places.value(number, key, _quoted(bad, table))
    name = table.get("id")
    said = f"{f'the rule {name}' if isinstance(name, str) else f'rule {number + 1}'}: {bad.message}"
    mend = _mend(bad, table, unknown=unknown)
    raise BadRules(path, at, said, mend) from bad


def _mend(bad: BadRule, table: Mapping[str, Any], *, unknown: bool) -> str:
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


def _quoted(bad: BadRule, table: Mapping[str, Any]) -> str:
    """The example that is wrong, to point at it."""
    value = table.get(bad.key)
    texts = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return next((text for text in texts if repr(text) in bad.message), "")
