"""The user's rules as an engine applies them: those of `policy.toml`. While that has an error, its valid rules count, and of
all others the last good version; if there is none, `unread` reports that."""

from __future__ import annotations

from pathlib import Path

from toolguard_engine.rules.rule_form import Rule
from toolguard_engine.stores.files.last_good import LastGood
from toolguard_engine.stores.files.user_rules import UserRules, parse
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.values import FORMER_TABLE, RULE_TABLE, Found, Placed

WORDS = "own rules"
EXAMPLES = ("matches", "passes")
"""What is not kept: it decides nothing, and may have a time in it."""

_LAST = "your rules in policy.toml contain errors; for the invalid ones, the last valid versions stay in force: {0}"
_NONE = (
    "your rules in policy.toml contain errors, and no valid version of them is known: rules that CANNOT BE READ ARE "
    "NOT IN FORCE, and in the modes enforce and soft every call above SAFE is held until the file is fixed: {0}"
)


class OwnPolicy:
    """`UserPolicy` of one state directory. `rules`: the same tuple while nothing changes; `trouble`: why the good version
    cannot be kept; else empty."""

    def __init__(self, state_dir: Path) -> None:
        self._own = UserRules(state_dir)
        self._last_good = LastGood(state_dir)
        self._seen: Found | None = None
        self._unseen = ""
        self._counted: dict[str, Placed] = {}
        self._is_known = False
        self._is_news = False
        self._fault = ""
        self.rules: tuple[Rule, ...] = ()
        self.trouble = ""

    @property
    def unread(self) -> str:
        """What cannot be read and has no last good version, in words; empty if there is nothing."""
        return WORDS if self._fault and not self._is_known else ""

    @property
    def faults(self) -> list[str]:
        """Errors in the file, for the gateway's log."""
        return [text for text in (self._fault, self.trouble) if text]

    def look(self) -> None:
        """Applies changes in the file, and keeps a good version. Never raises."""
        try:
            read = self._own.look()
        except StoreError as error:
            if str(error) != self._unseen:
                self._unseen, self._seen = str(error), None
                self._take(Found(fault=error))
            return
        if read is not self._seen:
            self._unseen, self._seen = "", read
            self._take(read)
        if self._is_news and self._is_known:
            self._keep()

    def _take(self, read: Found) -> None:
        good = {placed.rule.code: placed for placed in read.good}
        if read.fault is None:
            self._counted, self._is_known, self._fault = good, self._own.is_there, ""
        else:
            if not self._is_known and not self._fault:
                self._counted, self._is_known = last_good(self._last_good)
            self._counted = {**good, **{code: place for code, place in self._counted.items() if code not in good}}
            self._fault = (_LAST if self._is_known else _NONE).format(read.fault)
        self.rules = tuple(placed.rule for placed in self._counted.values())
        self._is_news = True

    def _keep(self) -> None:
        written = [placed.table for placed in self._counted.values()]
        tables = [{key: value for key, value in table.items() if key not in EXAMPLES} for table in written]
        try:
            self._last_good.keep({RULE_TABLE: tables, FORMER_TABLE: []})
        except StoreError as error:
            self.trouble = f"policy.toml is in force, but no copy of the valid version can be stored: {error}"
            return
        self.trouble, self._is_news = "", False


def last_good(kept: LastGood) -> tuple[dict[str, Placed], bool]:
    """What can be understood of the version that was kept, and whether that is all of it. Earlier versions of toolguard kept
    two kinds of tables, and perhaps only one of the two."""
    tables = {kind: kept.tables(kind) for kind in (RULE_TABLE, FORMER_TABLE)}
    read = parse({kind: table for kind, table in tables.items() if table is not None}, "", kept.path)
    return {placed.rule.code: placed for placed in read.good}, not read.fault and None not in tables.values()
