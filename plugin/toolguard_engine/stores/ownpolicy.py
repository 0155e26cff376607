"""The person's rules and constraints as an engine uses them: those of `policy.toml`; of a kind that is faulty there the last
good ones (`lastgood`); and where none are known either, the word that none count."""

from __future__ import annotations

from pathlib import Path
from typing import Generic, TypeVar

from toolguard_engine.layers.constraints import Constraint
from toolguard_engine.rulebook import Rule
from toolguard_engine.stores.lastgood import LastGood
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.owntables import Named, OwnTables
from toolguard_engine.stores.userconstraints import UserConstraints
from toolguard_engine.stores.userrules import UserRules

T = TypeVar("T", bound=Named)

_LAST = "your {0} in policy.toml are not as you meant them; the last good ones count: {1}"
_NONE = (
    "your {0} in policy.toml are not as you meant them and no good version of them is known: NONE of your {0} count, and in "
    "the modes enforce and soft every call above SAFE is held until the file is mended: {1}"
)


class _Kind(Generic[T]):
    """Tables of one kind. `counted`: what counts now; `known`: that this is what the person last meant."""

    def __init__(self, own: OwnTables[T], words: str, kept: LastGood) -> None:
        self._own = own
        self.words = words
        self._kept = kept
        self.counted: tuple[T, ...] = ()
        self.known = False
        self.fault = ""
        self.is_news = False

    @property
    def name(self) -> str:
        return self._own.table

    @property
    def written(self) -> list[dict[str, object]]:
        return self._own.written

    @property
    def is_unread(self) -> bool:
        return bool(self.fault) and not self.known

    def look(self) -> None:
        try:
            found = self._own.all()
        except StoreError as error:
            self._fall_back(error)
            return
        self.is_news = self._own.is_there and (
            self.is_news or not self.known or bool(self.fault) or found is not self.counted
        )
        self.counted, self.known, self.fault = found, self._own.is_there, ""

    def _fall_back(self, error: StoreError) -> None:
        if not self.known and not self.fault:
            self._recall()
        self.fault = (_LAST if self.known else _NONE).format(self.words, error)

    def _recall(self) -> None:
        self.counted = ()
        tables = self._kept.tables(self.name)
        if tables is None:
            return
        try:
            self.counted = self._own.made(tables, self._kept.path)
        except StoreError:
            return  # of another version of toolguard, or damaged
        self.known = True


class OwnPolicy:
    """Of one state directory. `trouble`: why the good version cannot be kept; empty where it is."""

    def __init__(self, state_dir: Path) -> None:
        self._last_good = LastGood(state_dir)
        self._rules = _Kind(UserRules(state_dir), "own rules", self._last_good)
        self._constraints = _Kind(UserConstraints(state_dir), "constraints", self._last_good)
        self.trouble = ""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The same tuple while nothing changes."""
        return self._rules.counted

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The same tuple while nothing changes."""
        return self._constraints.counted

    @property
    def unread(self) -> str:
        """What of the person's cannot be read and is not known from before, in words; empty where all is."""
        return " and ".join(kind.words for kind in (self._rules, self._constraints) if kind.is_unread)

    @property
    def faults(self) -> list[str]:
        """What is wrong with the file, for the gateway's log."""
        found = [kind.fault for kind in (self._rules, self._constraints)]
        return [text for text in (*found, self.trouble) if text]

    def look(self) -> None:
        """Takes over what was changed in the file, and keeps it where it is good. Never raises."""
        self._rules.look()
        self._constraints.look()
        kinds = (self._rules, self._constraints)
        news = {kind.name: kind.written for kind in kinds if kind.is_news and not kind.fault}
        if not news:
            return
        try:
            self._last_good.keep(news)
        except StoreError as error:
            self.trouble = f"what you wrote into policy.toml counts, but the good version cannot be kept aside: {error}"
            return
        self.trouble = ""
        for kind in kinds:
            kind.is_news = kind.is_news and kind.name not in news
