"""The policy of a team: TOML with a version, who may approve what (`[[approvers]]`, `[teams]`), and rules (`[[rule]]`).

Rules are in the form of a person's own rules, and add like these; their ids begin with `fleet.`, or `constraint.fleet-` with
a severity. What cannot be understood is an error that names its line, never something that is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from toolguard_engine import lazy_re
from toolguard_engine.approvals.needed_approvals import MAX_NEED, ApproverPolicy, ApproverRule
from toolguard_engine.rules import vocabulary
from toolguard_engine.rules.rule_form import SEVERITY_PACK, Rule
from toolguard_engine.stores import toml_file
from toolguard_engine.stores.files import user_rules
from toolguard_engine.stores.files.user_rules import Matcher
from toolguard_engine.stores.toml_file import At, InvalidTomlError, TomlPositions
from toolguard_engine.stores.values import RULE_TABLE, InvalidRulesError

ALL_TEAMS = "*"
PACK = "fleet"
NAMESPACE = "toolguard-policy"
MAX_BYTES = 256 * 1024
MAX_VERSION = 2_000_000_000
MAX_TABLES = 100
MAX_TEAMS = 32
MAX_MEMBERS = 500
MAX_PRINCIPAL = 200
APPROVERS, TEAMS = "approvers", "teams"
_TOP = ("version", "team", TEAMS, APPROVERS, RULE_TABLE)
_KEYS = ("effect", "stakes", "need", "teams")
_TEAM = lazy_re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_SIGNS = lazy_re.compile(r"[^\s\"'\\,\x00-\x1f\x7f]+")
_ADD = "write it like need = 2, with effect = [...], stakes = 8 or teams = [...] beside it"


class FleetPolicy(Struct, frozen=True):
    """A policy that was understood. `team`: `*` for teams without a policy of their own."""

    version: int
    team: str
    approvers: ApproverPolicy
    rules: tuple[Rule, ...]
    text: str

    def of_team(self, team: str) -> ApproverPolicy:
        """Returns the policy that counts for a gateway of this team."""
        return ApproverPolicy(team, self.approvers.rules, self.approvers.members)


def parse(text: str, path: Path, matcher: Matcher | None = None) -> FleetPolicy:
    """`path`: what errors name; `matcher`: also tries the examples of rules. Raises `InvalidRulesError`."""
    return _Parser(text, path).policy(matcher)


class _Parser:
    def __init__(self, text: str, path: Path) -> None:
        self._text = text
        self._path = path

    def policy(self, matcher: Matcher | None) -> FleetPolicy:
        table = self._table()
        version, team = self._version(table), self._team(table)
        members = self._members(table, team)
        approvers = ApproverPolicy(team, self._approvers(table, members), members)
        parsed = user_rules.parse({RULE_TABLE: table.get(RULE_TABLE, [])}, self._text, self._path, matcher)
        if parsed.fault is not None:
            raise parsed.fault
        rules = tuple(_renamed(placed.rule) for placed in parsed.good)
        if len({rule.id for rule in rules}) < len(rules):
            raise self._wrong(At(), "the ids of two rules differ only in a dot", "give one of them another id")
        return FleetPolicy(version, team, approvers, rules, self._text)

    def _table(self) -> dict[str, Any]:
        if len(self._text.encode()) > MAX_BYTES:
            raise self._wrong(At(), f"it is larger than {MAX_BYTES} bytes", "combine some of its rules")
        try:
            table = toml_file.load(self._text)
        except InvalidTomlError as error:
            raise self._wrong(At(error.line, error.column), str(error), error.fix) from error
        for key in table:
            if key not in _TOP:
                near = vocabulary.nearest(key, _TOP)
                fix = f"did you mean {near}?" if near else f"a policy may have: {', '.join(_TOP)}"
                raise self._wrong(self._at(key), f"unknown key {key!r}", fix)
        return table

    def _version(self, table: Mapping[str, Any]) -> int:
        version = table.get("version")
        if not _is_number(version, 1, MAX_VERSION):
            fix = "write it like version = 1, above the first table, and raise it with each change"
            raise self._wrong(self._at("version"), "version must be a whole number, at least 1", fix)
        return int(table["version"])

    def _team(self, table: Mapping[str, Any]) -> str:
        team = table.get("team")
        if not isinstance(team, str) or not (team == ALL_TEAMS or _TEAM.fullmatch(team)):
            fix = 'write it like team = "ops", above the first table; team = "*" is for teams without a policy of their own'
            raise self._wrong(self._at("team"), "team must name the team that the policy is for", fix)
        return team

    def _members(self, table: Mapping[str, Any], team: str) -> dict[str, frozenset[str]] | None:
        if TEAMS not in table:
            return None
        teams, at = table[TEAMS], self._at(TEAMS)
        fix = 'write it like ops = ["alice@example.com"], with the names of allowed_signers'
        if not isinstance(teams, dict) or not 1 <= len(teams) <= MAX_TEAMS:
            raise self._wrong(at, f"teams must be a table of 1 to {MAX_TEAMS} teams", fix)
        for name, persons in teams.items():
            is_list = isinstance(persons, list) and 1 <= len(persons) <= MAX_MEMBERS
            if not _TEAM.fullmatch(name) or not is_list or not all(map(_is_principal, persons)):
                raise self._wrong(self._at(name, after=at.line), f"the team {name!r} is not a list of principals", fix)
        if team not in (ALL_TEAMS, *teams):
            raise self._wrong(at, f"teams does not list the members of {team!r}, the team of the policy", fix)
        return {name: frozenset(persons) for name, persons in teams.items()}

    def _approvers(self, table: Mapping[str, Any], members: Mapping[str, frozenset[str]] | None) -> tuple[ApproverRule, ...]:
        tables = table.get(APPROVERS, [])
        if not isinstance(tables, list) or not all(isinstance(raw, dict) for raw in tables) or len(tables) > MAX_TABLES:
            fix = f"write each as [[{APPROVERS}]]"
            raise self._wrong(self._at(APPROVERS), f"{APPROVERS} is not a list of at most {MAX_TABLES} tables", fix)
        places = TomlPositions(self._text, APPROVERS)
        return tuple(self._approver_rule(number, raw, places, members) for number, raw in enumerate(tables))

    def _approver_rule(
        self, number: int, table: Mapping[str, Any], places: TomlPositions, members: Mapping[str, frozenset[str]] | None
    ) -> ApproverRule:
        for key in table:
            if key not in _KEYS:
                near = vocabulary.nearest(key, _KEYS)
                fix = f"did you mean {near}?" if near else f"such a table may have: {', '.join(_KEYS)}"
                raise self._wrong(places.key(number, key), f"{APPROVERS} {number + 1}: unknown key {key!r}", fix)
        if not table:
            raise self._wrong(places.table(number), f"{APPROVERS} {number + 1}: it is empty", _ADD)
        for key, most in (("stakes", 10), ("need", MAX_NEED)):
            if key in table and not _is_number(table[key], 1, most):
                what = f"{APPROVERS} {number + 1}: {key} must be a whole number from 1 to {most}"
                raise self._wrong(places.value(number, key), what, f"write it like {key} = {min(most, 2)}")
        effect = self._names(number, table, "effect", places, vocabulary.KINDS)
        known = None if members is None else frozenset(members)
        teams = self._names(number, table, "teams", places, known)
        rule = ApproverRule(effect, table.get("stakes", 1), table.get("need", 1), teams)
        self._check_reach(number, rule, places, members)
        return rule

    def _check_reach(
        self, number: int, rule: ApproverRule, places: TomlPositions, members: Mapping[str, frozenset[str]] | None
    ) -> None:
        """Such calls could never be approved."""
        if members is None or not rule.teams:
            return
        persons = {person.casefold() for team in rule.teams for person in members[team]}
        if len(persons) < rule.need:
            what = f"{APPROVERS} {number + 1}: it needs {rule.need} people of {', '.join(rule.teams)}, but there are fewer"
            raise self._wrong(places.value(number, "need"), what, f"add people under [{TEAMS}], or lower need")

    def _names(
        self,
        number: int,
        table: Mapping[str, Any],
        key: str,
        places: TomlPositions,
        known: frozenset[str] | None,
    ) -> tuple[str, ...]:
        names = table.get(key, [])
        at = places.value(number, key)
        is_list = isinstance(names, list) and len(names) <= MAX_TEAMS and (names or key not in table)
        if not is_list or not all(isinstance(name, str) for name in names):
            example = '["send", "delete"]' if key == "effect" else '["ops"]'
            raise self._wrong(at, f"{APPROVERS} {number + 1}: {key} must be a list of names", f"write {key} = {example}")
        for name in names:
            if name not in known if known is not None else not _TEAM.fullmatch(name):
                near = vocabulary.nearest(name, known or ())
                listed = ", ".join(sorted(known)[:40]) if known else "a-z, 0-9 and ._-"
                fix = f"did you mean {near}?" if near else f"known values: {listed}"
                at = places.value(number, key, name)
                raise self._wrong(at, f"{APPROVERS} {number + 1}: {key} has no {name!r}", fix)
        return tuple(names)

    def _at(self, key: str, after: int = 0) -> At:
        """Where a key or its table stands; its line in most files, which is all that a person needs."""
        wanted = re.compile(rf"\s*(?:\[+\s*)?[\"']?{re.escape(key)}[\"']?\s*(?:\.|=|\])")
        lines = enumerate(self._text.splitlines(), 1)
        return next((At(number, 1) for number, line in lines if number > after and wanted.match(line)), At())

    def _wrong(self, at: At, message: str, fix: str) -> InvalidRulesError:
        return InvalidRulesError(self._path, at, message, fix)


def _renamed(rule: Rule) -> Rule:
    """So that audit log and `check` show where it comes from."""
    if rule.severity:
        name = rule.id.removeprefix(f"{SEVERITY_PACK}.")
        return structs.replace(rule, id=f"{SEVERITY_PACK}.{PACK}-{name}")
    name = rule.id.removeprefix(f"{user_rules.PACK}.").replace(".", "-")
    return structs.replace(rule, id=f"{PACK}.{name}")


def _is_number(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_principal(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_PRINCIPAL and bool(_SIGNS.fullmatch(value))
