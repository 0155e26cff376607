"""The person's constraints: the tables `[[constraint]]` of `<state dir>/toolguard/policy.toml`.

`owntables` says how they are read; `add` appends the text of a pack, under the lock that grants are written under.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from toolguard_engine import rulenames
from toolguard_engine.clockhours import DAYS
from toolguard_engine.constraintform import KEYS, Constraint, Example, Severity, constraint_from
from toolguard_engine.ruleform import BadRule
from toolguard_engine.stores import files, owntables, tomlfile
from toolguard_engine.stores.locked import StoreError, lock
from toolguard_engine.stores.owntables import BadRules, Form, OwnTables
from toolguard_engine.stores.tomlfile import NoToml

__all__ = ["BadRules", "Placed", "UserConstraints", "parse"]

TABLE = "constraint"
MAX_CONSTRAINTS = 500
Placed = owntables.Placed[Constraint]
Speaks = Callable[[Constraint, Example], bool]

NEW_FILE = """\
# What toolguard holds, blocks and lets through, in your words. A constraint ([[constraint]]) only ever adds a question or a
# refusal, so it counts as soon as the file is saved; `toolguard constraints` lists what counts. Comments are kept.
"""

_MENDS = {
    "id": 'name it like id = "no-prod-writes"',
    "severity": 'write severity = "mandatory" (blocked), "required" (a person is asked) or "advisory" (a note)',
    "reason": 'add a reason, a sentence for a person and the model: reason = "Production is changed by people only."',
    "params": 'write it like params = { command = "prod" }, or params = { "job.command" = "prod" } for what is inside',
    "effect": 'write one of the known kinds, like effect = ["delete", "send"]',
    "hours": 'write it like hours = "22:00-06:00"; for the whole day leave it out',
    "days": f'write some of {", ".join(DAYS)}, like days = ["sat", "sun"]',
    "timezone": 'name one like timezone = "Europe/Vienna" beside hours or days, or leave it out: the gateway\'s own clock',
    "matches": "change the example, or what the constraint asks for",
    "passes": "change the example, or what the constraint asks for",
    "": f"a constraint may have: {', '.join(KEYS)}",
}
_CONDITION = 'say which calls: tool = ["exec"], path = ["~/prod/**"], effect = ["delete"] ...; tool = ["*"] if you mean all'


class UserConstraints(OwnTables[Constraint]):
    """Those of one state directory. The file is read again when it was changed."""

    def __init__(self, state_dir: Path) -> None:
        super().__init__(state_dir, _form)

    def constraints(self) -> tuple[Constraint, ...]:
        """In the order of the file; the same tuple while nothing changes. Raises `BadRules`, `StoreError`."""
        return self.all()

    def placed(self, speaks: Speaks | None = None) -> list[Placed]:
        """Read anew; with `speaks` (whether a constraint speaks about a call) their examples are tried. Raises as well."""
        return self.read(_form(speaks))

    def add(self, text: str, *, dry_run: bool = False) -> list[Constraint]:
        """Appends these tables, comments and all; what is there stays byte for byte. Raises `BadRules`, `StoreError`."""
        if dry_run:
            return self._joined(text)[1]
        with lock(self.path):
            joined, added = self._joined(text)
            real = self.path.resolve()
            try:
                mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
                files.replace(real, joined.encode(), mode)
            except OSError as error:
                raise StoreError(f"{real}: {error.strerror or error}") from error
        return added

    def _joined(self, text: str) -> tuple[str, list[Constraint]]:
        """The file with the text behind it, and what is new in it."""
        before = self._text() or NEW_FILE
        known = [placed.rule for placed in self._parsed(before)]
        new = [placed.rule for placed in parse(tomlfile.load(text), text, self.path)]
        taken = [each.id for each in new if any(other.id == each.id for other in known)]
        if taken:
            what = f"{'the id' if len(taken) == 1 else 'the ids'} {', '.join(taken)}"
            raise StoreError(f"{self.path} has {what} already, so nothing was added; change or take out what is there")
        end = "\r\n" if "\r\n" in before else "\n"
        joined = f"{before if before.endswith(chr(10)) else before + end}{end}{text.replace(chr(10), end)}"
        if [placed.rule for placed in self._parsed(joined)] != [*known, *new]:
            raise StoreError(f"{self.path} cannot be added to safely; copy the pack into it by hand")
        return joined, new

    def _text(self) -> str:
        try:
            return tomlfile.text_of(self.path)
        except NoToml as error:
            raise BadRules(self.path, tomlfile.At(error.line, error.column), str(error), error.mend) from error

    def _parsed(self, text: str) -> list[Placed]:
        try:
            return parse(tomlfile.load(text), text, self.path)
        except NoToml as error:
            raise BadRules(self.path, tomlfile.At(error.line, error.column), str(error), error.mend) from error


def parse(table: Mapping[str, Any], text: str, path: Path, speaks: Speaks | None = None) -> list[Placed]:
    """The constraints of a policy that says `table`; `text` and `path` are for places. Raises `BadRules`."""
    return owntables.parse(table, text, path, _form(speaks))


def _form(speaks: Speaks | None = None) -> Form[Constraint]:
    return Form(TABLE, MAX_CONSTRAINTS, partial(_made, speaks=speaks), _mend)


def _made(table: dict[str, Any], *, speaks: Speaks | None) -> Constraint:
    made = constraint_from(table)
    for example in made.matches if speaks else ():
        if speaks and not speaks(made, example):
            raise BadRule("matches", f"it does not speak about its own example {example!r}")
    for example in made.passes if speaks else ():
        if speaks and speaks(made, example):
            raise BadRule("passes", f"it speaks about {example!r}, which should pass")
    return made


def _mend(bad: BadRule, table: Mapping[str, Any], unknown: bool) -> str:  # noqa: FBT001 - as `Form` has it
    if unknown:
        near = rulenames.nearest(bad.key, KEYS)
        return f"did you mean {near}? {_MENDS['']}" if near else _MENDS[""]
    if not bad.key:
        return _CONDITION
    if bad.key == "severity" and (near := rulenames.nearest(str(table.get("severity", "")), Severity.__args__)):  # type: ignore[attr-defined]
        return f"did you mean {near}? {_MENDS['severity']}"
    return _MENDS.get(bad.key) or f'write it like {bad.key} = ["..."]'
