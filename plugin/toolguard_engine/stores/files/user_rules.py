"""A person's own rules: the tables `[[rule]]` of `<state dir>/toolguard/policy.toml`, in the form of the packs (`rulebook`).

Invariants: such a rule only ever holds or blocks more, so it needs no signature; and one that cannot be understood is an
error that names its place, never one that is left out. An id without a pack belongs to the pack `user`, that of a rule with
a severity to `constraint`. The table `[[constraint]]` of earlier versions is read as a rule with a severity;
`toolguard migrate` rewrites it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolguard_engine.rules.rule_form import SEVERITY_PACK, Example, InvalidRuleError, Rule, rule_from, try_examples
from toolguard_engine.stores import atomic, disk, toml_file
from toolguard_engine.stores.locked import StoreError, lock
from toolguard_engine.stores.state_files import POLICY
from toolguard_engine.stores.toml_file import At, InvalidTomlError, Stamp, TomlPositions, stamp_of
from toolguard_engine.stores.values import FORMER_TABLE, RULE_TABLE, Found, InvalidRulesError, Placed

PACK = "user"
MAX_RULES = 1_500

NEW_FILE = """\
# Your own rules and grants. A rule ([[rule]]) can only make the guard stricter, so it is in force as soon as the file is
# saved; `toolguard rules` lists the rules in force. Comments are kept.
"""

Matcher = Callable[[Rule, Example], bool]


_NOTHING = Found()


class UserRules:
    """The rules of one state directory. The file is read again when it was changed."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / POLICY
        self._stamp: Stamp | None = None
        self._found = _NOTHING
        self._rules: tuple[Rule, ...] = ()

    @property
    def is_there(self) -> bool:
        """Whether there was a file when `look` last did."""
        return self._stamp is not None

    def look(self) -> Found:
        """What the file says now; the same object while nothing changes. Raises `StoreError` if it cannot be read."""
        stamp = stamp_of(self.path)
        if stamp is None:
            self._found, self._rules = _NOTHING, ()
        elif stamp != self._stamp:
            self._found = self._read()
            self._rules = tuple(placed.rule for placed in self._found.good)
        self._stamp = stamp
        return self._found

    def parse(self, table: Mapping[str, Any], text: str) -> Found:
        """The rules of a parsed policy; `text` is for positions. Never raises."""
        return parse(table, text, self.path)

    def rules(self) -> tuple[Rule, ...]:
        """Returns the rules in the order of the file; the same tuple while nothing changes. Raises `InvalidRulesError`,
        `StoreError`."""
        read = self.look()
        if read.fault is not None:
            raise read.fault.with_traceback(None)
        return self._rules

    def placed(self, matcher: Matcher | None = None) -> list[Placed]:
        """The rules, read again; with `matcher` (is a rule about a call?) their examples are tried. Raises as `rules`."""
        read = self._read(matcher)
        if read.fault is not None:
            raise read.fault
        return list(read.good)

    def add(self, text: str, *, dry_run: bool = False) -> list[Rule]:
        """Appends these tables, comments and all; what is there stays byte for byte. Raises as `rules`."""
        if dry_run:
            return self._joined(text)[1]
        with lock(self.path):
            joined, added = self._joined(text)
            real = self.path.resolve()
            try:
                mode = disk.look(real).st_mode & 0o777 if atomic.is_there(real) else 0o600
                atomic.replace(real, joined.encode(), mode)
            except OSError as error:
                raise StoreError(f"{real}: {error.strerror or error}") from error
        return added

    def _read(self, matcher: Matcher | None = None) -> Found:
        try:
            text = toml_file.text_of(self.path)
            return parse(toml_file.load(text), text, self.path, matcher)
        except InvalidTomlError as error:
            return Found(fault=InvalidRulesError(self.path, At(error.line, error.column), str(error), error.fix))

    def _joined(self, text: str) -> tuple[str, list[Rule]]:
        """The file with the text behind it, and what is new in it."""
        read = self._read()
        if read.fault is not None:
            raise read.fault
        before = toml_file.text_of(self.path) or NEW_FILE
        known, new = _rules(read), _rules(parse(toml_file.load(text), text, self.path))
        taken = [rule.name for rule in new if any(other.id == rule.id for other in known)]
        if taken:
            what = f"{'the id' if len(taken) == 1 else 'the ids'} {', '.join(taken)}"
            raise StoreError(f"{self.path} has {what} already, so nothing was added; change or remove what is there")
        end = "\r\n" if "\r\n" in before else "\n"
        joined = f"{before if before.endswith(chr(10)) else before + end}{end}{text.replace(chr(10), end)}"
        try:
            is_meant = _rules(parse(toml_file.load(joined), joined, self.path)) == [*known, *new]
        except InvalidTomlError:
            is_meant = False
        if not is_meant:
            raise StoreError(f"{self.path} cannot be added to safely; copy the pack into it by hand")
        return joined, new


def _rules(read: Found) -> list[Rule]:
    return [placed.rule for placed in read.good]


def parse(table: Mapping[str, Any], text: str, path: Path, matcher: Matcher | None = None) -> Found:
    """The rules of a parsed policy; `text` and `path` are for positions. Never raises."""
    written: list[tuple[At, str, int, TomlPositions, dict[str, Any]]] = []
    faults: list[StoreError] = []
    for kind in (RULE_TABLE, FORMER_TABLE):
        tables = table.get(kind, [])
        places = TomlPositions(text if tables else "", kind)
        if not isinstance(tables, list) or not all(isinstance(raw, dict) for raw in tables):
            faults.append(
                InvalidRulesError(
                    path, At(), f"{kind} is not a list of tables", f"write each {RULE_TABLE} as [[{RULE_TABLE}]]"
                )
            )
            continue
        written += [(places.table(number), kind, number, places, raw) for number, raw in enumerate(tables)]
    written.sort(key=lambda row: row[0].line)
    if len(written) > MAX_RULES:
        many = f"there are more than {MAX_RULES} rules"
        faults.append(InvalidRulesError(path, written[MAX_RULES][0], many, "combine some of them"))
    good: dict[str, Placed] = {}
    for at, kind, number, places, each in written[:MAX_RULES]:
        try:
            rule = _rule(each, kind, matcher)
        except InvalidRuleError as bad:
            faults.append(_explained(bad, each, kind, number, places, path))
            continue
        first = good.setdefault(rule.code, Placed(rule, at, each))
        if first.rule is not rule:
            twice = f"the id {rule.name} is already used in line {first.at.line}"
            faults.append(InvalidRulesError(path, places.value(number, "id"), twice, "give one of them another id"))
    former = sum(kind == FORMER_TABLE for _, kind, *_ in written)
    return Found(tuple(good.values()), next(iter(faults), None), former)


def _rule(table: dict[str, Any], kind: str, matcher: Matcher | None) -> Rule:
    if kind == FORMER_TABLE and "severity" not in table:
        raise InvalidRuleError("severity", "it has no severity")
    name = table.get("id")
    pack = SEVERITY_PACK if "severity" in table else PACK
    if isinstance(name, str) and name and (pack == SEVERITY_PACK or "." not in name):
        name = f"{pack}.{name}"
    if isinstance(name, str) and pack == PACK:
        pack = name.partition(".")[0] or PACK
    from toolguard_engine.rules import rule_errors, vocabulary  # noqa: PLC0415 - slow; most people have no rules

    rule = rule_from({**table, "id": name} if name is not None else table, pack)
    vocabulary.check(rule)
    if matcher is not None:
        try_examples(rule, matcher)
    if not (rule.clarity or rule.stakes or rule.verdict or rule.severity):
        raise InvalidRuleError("", rule_errors.NO_EFFECT)
    return rule


def _explained(
    bad: InvalidRuleError, table: Mapping[str, Any], kind: str, number: int, places: TomlPositions, path: Path
) -> InvalidRulesError:
    from toolguard_engine.rules import rule_errors  # noqa: PLC0415 - as above

    key = bad.key if bad.key in table else ""
    if bad.message.startswith("unknown key") or not key:
        at = places.key(number, bad.key) if bad.key else places.table(number)
    else:
        at = places.value(number, key, _quoted(bad, table))
    name = table.get("id")
    message = f"{f'the {kind} {name}' if isinstance(name, str) else f'{kind} {number + 1}'}: {bad.message}"
    return InvalidRulesError(path, at, message, rule_errors.fix_of(bad, table))


def _quoted(bad: InvalidRuleError, table: Mapping[str, Any]) -> str:
    """The text that is wrong, to point at it."""
    value = table.get(bad.key)
    texts = [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
    return next((text for text in texts if repr(text) in bad.message), "")
