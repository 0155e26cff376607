"""Limits on what model calls use (`limits`): which calls count, in which period, and how a limit is named.

A limit may set an amount of USD and one of tokens. Each is a `SpendingCap` of its own, and its `key` names it everywhere.
Days and months are those of UTC, like the totals of the metrics. `session` is what one session uses in a day.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.config.settings import LimitPeriod, SpendingLimit

Unit = Literal["usd", "tokens"]
DAY_MS = 24 * 3_600_000
LimitState = Literal["free", "near", "reached"]
WARN_SHARE = 0.8
ROUNDING = 1e-9
SMALL_USD = 0.1
"""Below it, a hundredth of a cent is shown."""

COMMAND = "toolguard limits"
_GLOBS = lazy_re.compile(r"[\[?]")


class SpendingCap(msgspec.Struct, frozen=True, dict=True):
    """One amount. `agent`, `model`: empty for all."""

    per: LimitPeriod
    unit: Unit
    amount: float
    agent: str = ""
    model: str = ""

    @cached_property
    def key(self) -> str:
        of = "".join(f" of {kind} {name}" for kind, name in (("agent", self.agent), ("model", self.model)) if name)
        return f"{self.unit} per {self.per}{of}"

    @property
    def words(self) -> str:
        """`$5.00 a day for agent main`."""
        of = " and ".join(f"{kind} {name}" for kind, name in (("agent", self.agent), ("model", self.model)) if name)
        return f"{shown(self.amount, self.unit)} a {self.per}{f' for {of}' if of else ''}"

    def raising(self, amount: float | None = None) -> str:
        """The command that sets another amount, by default the double. `=`: redaction hides a word behind `--tokens`."""
        wanted = f"{2 * self.amount if amount is None else amount:.12g}"
        named = [f"--{kind}={shlex.quote(name)}" for kind, name in (("agent", self.agent), ("model", self.model)) if name]
        return " ".join([COMMAND, "set", self.per, f"--{self.unit}={wanted}", *named])

    def state(self, used: float) -> LimitState:
        """Sums of money are compared up to rounding errors."""
        share = used / self.amount + ROUNDING
        return "reached" if share >= 1 else "near" if share >= WARN_SHARE else "free"

    def covers(self, agent: str, provider: str, model: str) -> bool:
        """Whether a model call counts."""
        return self.agent in ("", agent) and (not self.model or self._matches(provider.lower(), model.lower()))

    def _matches(self, provider: str, model: str) -> bool:
        names = (f"{provider}/{model}", model.rpartition("/")[2])
        return any(fnmatchcase(name, self._pattern) for name in names)

    @cached_property
    def _pattern(self) -> str:
        """Only `*` is a wildcard."""
        return _GLOBS.sub(r"[\g<0>]", self.model.lower())


def caps(limits: Iterable[SpendingLimit]) -> tuple[SpendingCap, ...]:
    """Each amount once; of several for the same the lowest."""
    by_name: dict[str, SpendingCap] = {}
    for limit in limits:
        for unit, amount in (("usd", limit.usd), ("tokens", limit.tokens)):
            if amount is not msgspec.UNSET:
                model = "" if limit.per == "session" else limit.model  # sessions are not summed by model
                cap = SpendingCap(limit.per, unit, float(amount), limit.agent, model)  # type: ignore[arg-type]
                if cap.key not in by_name or cap.amount < by_name[cap.key].amount:
                    by_name[cap.key] = cap
    return tuple(by_name.values())


def amounts(limits: Any) -> dict[str, str]:
    """The amounts of limits as they are in the config, by key: what is compared when settings change."""
    return {cap.key: f"{cap.amount:.12g}" for cap in caps(msgspec.convert(limits, list[SpendingLimit]))}


def period(per: LimitPeriod, now: int) -> tuple[int, int]:
    """When the running period begins, and when the next one does, in milliseconds since 1970."""
    if per != "month":
        return now - now % DAY_MS, now - now % DAY_MS + DAY_MS
    moment = datetime.fromtimestamp(now / 1000, UTC)
    return _month(moment.year, moment.month), _month(moment.year + moment.month // 12, moment.month % 12 + 1)


def _month(year: int, month: int) -> int:
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1000


def shown(amount: float, unit: Unit) -> str:
    """`$4.02`, `1,200 tokens`."""
    if unit == "tokens":
        return f"{amount:,.0f} token{'' if amount == 1 else 's'}"
    return f"${amount:,.{4 if 0 < amount < SMALL_USD else 2}f}"
