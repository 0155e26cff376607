"""Values of the metrics file made fit to be shown. Invariants: the file may be shared, so a row may hold anything; a
returned number is finite, not negative, and exact in JSON; a text is bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from toolguard_engine.metrics.result_types import Share, Totals

EXACT = 2**53 - 1
"""The highest integer that every JSON reader keeps exactly."""

MOST_USD = 1e12
MONEY_DIGITS = 9
"""Decimal places; further ones are rounding errors of the sums."""

MAX_TEXT = 4_000

SUMS = Totals.__struct_fields__
"""The sums, in the column order of the rollups."""

_IS_MONEY = tuple(name in ("cost_usd", "estimated_usd") for name in SUMS)
_NUMBERS = attrgetter(*SUMS)
_TOTALS: Callable[..., Totals] = Totals


def whole(value: Any) -> int:
    if not isinstance(value, (int, float)) or not value > 0:  # NaN is neither more nor less
        return 0
    return int(value) if value < EXACT else EXACT


def money(value: Any) -> float:
    if not isinstance(value, (int, float)) or not value > 0:  # as above
        return 0.0
    return round(float(value), MONEY_DIGITS) if value < MOST_USD else MOST_USD


def known_money(value: Any) -> float | None:
    """None if it is unknown or not an amount."""
    return money(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def text(value: Any, most: int = MAX_TEXT) -> str:
    if value is None:
        return ""
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))[:most]


def totals(sums: Sequence[Any]) -> Totals:
    """Makes totals of the sums of one row, in their order."""
    return _TOTALS(*[money(value) if priced else whole(value) for value, priced in zip(sums, _IS_MONEY, strict=True)])


def added(days: Iterable[Totals]) -> Totals:
    every = list(days)
    if len(every) == 1:
        return every[0]
    columns = list(zip(*map(_NUMBERS, every), strict=True))
    return totals([sum(column) for column in columns]) if columns else Totals()


def most_expensive(shares: Iterable[Share], most: int) -> list[Share]:
    """The most expensive; for equal or no cost, those with the most tokens."""
    return sorted(shares, key=lambda one: (-one.totals.cost_usd, -one.totals.total, one.name, one.provider))[:most]
