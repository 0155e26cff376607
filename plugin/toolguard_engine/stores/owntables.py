"""What a person writes into `<state dir>/toolguard/policy.toml` in tables of one kind: rules, constraints.

The law: such a table only ever holds or blocks more, so it needs no signature; and one that cannot be understood is an
error that names its place, never one that is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from toolguard_engine.redact import UNPRINTABLE
from toolguard_engine.ruleform import BadRule
from toolguard_engine.stores import files, tomlfile
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.policy import NAME
from toolguard_engine.stores.tomlfile import At, NoToml, Places, Stamp, stamp_of


class BadRules(StoreError):  # noqa: N818 - named for the condition, like its family
    """A table cannot be understood; the text names file, line, column, what is wrong, and how to mend it."""

    code = "policy.bad-rule"

    def __init__(self, path: Path, at: At, said: str, mend: str) -> None:
        where = f", line {at.line}" if at.line else ""
        where += f", column {at.column}" if at.line and at.column else ""
        super().__init__(UNPRINTABLE.sub("?", f"{path}{where}: {said}; {mend}"))
        self.path, self.at, self.said, self.mend = path, at, said, mend


class Named(Protocol):
    """What a table becomes."""

    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=Named)


@dataclass(frozen=True)
class Placed(Generic[T]):
    """A rule or constraint and where it stands."""

    rule: T
    at: At


@dataclass(frozen=True)
class Form(Generic[T]):
    """One kind of table: `[[table]]`, at most `most` of them.

    `make`: what a table says. Raises `BadRule`. `mend`: what to do about that; True: it is about a key that is not known.
    """

    table: str
    most: int
    make: Callable[[dict[str, Any]], T]
    mend: Callable[[BadRule, Mapping[str, Any], bool], str]


class OwnTables(Generic[T]):
    """The tables of one kind of one state directory. The file is read again when it was changed."""

    def __init__(self, state_dir: Path, form: Callable[[], Form[T]]) -> None:
        self.path = files.own_folder(state_dir) / NAME
        self._form = form
        self._stamp: Stamp | None = None
        self._known: tuple[T, ...] | BadRules = ()
        self.written: list[dict[str, Any]] = []
        """The tables that `all` last made something of, as they are written."""

    @property
    def table(self) -> str:
        return self._form().table

    @property
    def is_there(self) -> bool:
        """Whether there was a file when `all` last looked."""
        return self._stamp is not None

    def made(self, tables: list[dict[str, Any]], path: Path) -> tuple[T, ...]:
        """What tables say that were kept elsewhere, at `path`. Raises `BadRules`."""
        return tuple(placed.rule for placed in parse({self.table: tables}, "", path, self._form()))

    def all(self) -> tuple[T, ...]:
        """In the order of the file; the same tuple while nothing changes. Raises `BadRules`, `StoreError`."""
        stamp = stamp_of(self.path)
        if stamp is None:
            self._stamp, self._known, self.written = None, (), []
        elif stamp != self._stamp:
            try:
                form = self._form()
                table, text = self._load()
                self._known = tuple(placed.rule for placed in parse(table, text, self.path, form))
                self.written = table.get(form.table, [])
            except BadRules as error:
                self._known = error
            self._stamp = stamp
        if isinstance(self._known, BadRules):
            raise self._known.with_traceback(None)
        return self._known

    def read(self, form: Form[T]) -> list[Placed[T]]:
        """The tables, read anew by this form. Raises as `all`."""
        table, text = self._load()
        return parse(table, text, self.path, form)

    def _load(self) -> tuple[dict[str, Any], str]:
        try:
            text = tomlfile.text_of(self.path)
            return tomlfile.load(text), text
        except NoToml as error:
            raise BadRules(self.path, At(error.line, error.column), str(error), error.mend) from error


def parse(table: Mapping[str, Any], text: str, path: Path, form: Form[T]) -> list[Placed[T]]:
    """What a policy that says `table` has of this form; `text` and `path` are for places. Raises `BadRules`."""
    tables = table.get(form.table, [])
    places = Places(text, form.table) if tables else Places("", form.table)
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise BadRules(path, At(), f"{form.table} is not a list of tables", f"write each {form.table} as [[{form.table}]]")
    if len(tables) > form.most:
        many = f"there are more than {form.most} {form.table}s"
        raise BadRules(path, places.table(form.most), many, "put some of them together")
    found: list[Placed[T]] = []
    for number, each in enumerate(tables):
        try:
            made = form.make(each)
        except BadRule as bad:
            _explain(bad, each, places.table(number), _Spot(places, number, path), form)
        first = next((placed for placed in found if placed.rule.id == made.id), None)
        if first is not None:
            twice = f"the id {made.id} stands in line {first.at.line} already"
            raise BadRules(path, places.value(number, "id"), twice, "give one of them another id")
        found.append(Placed(made, places.table(number)))
    return found


@dataclass(frozen=True)
class _Spot:
    places: Places
    number: int
    path: Path


def _explain(bad: BadRule, table: Mapping[str, Any], header: At, spot: _Spot, form: Form[Any]) -> NoReturn:
    key = bad.key if bad.key in table else ""
    unknown = bad.message.startswith("unknown key")
    if unknown or not key:
        at = spot.places.key(spot.number, bad.key) if bad.key else header
    else:
        at = spot.places.value(spot.number, key, _quoted(bad, table))
    name = table.get("id")
    said = f"{f'the {form.table} {name}' if isinstance(name, str) else f'{form.table} {spot.number + 1}'}: {bad.message}"
    raise BadRules(spot.path, at, said, form.mend(bad, table, unknown)) from bad


def _quoted(bad: BadRule, table: Mapping[str, Any]) -> str:
    """The text that is wrong, to point at it."""
    value = table.get(bad.key)
    texts = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return next((text for text in texts if repr(text) in bad.message), "")
