"""Values of the metrics file made fit to be shown. The law: the file may be another's too, so a row may hold anything; a
number that comes out is finite, not below 0, and exact in JSON; a text is bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from toolguard_engine.metrics.shapes import Share, Totals

EXACT = 2**53 - 1
"""The highest whole number that every JSON reader keeps."""

MOST_USD = 1e12
MONEY_DIGITS = 9
"""Behind the point: beyond are only the faults of adding up."""

MAX_TEXT = 4_000

SUMS = Totals.__struct_fields__
"""The sums, in the order of the columns of the rollups."""

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
    """None where it is not known, or no amount."""
    return money(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def text(value: Any, most: int = MAX_TEXT) -> str:
    if value is None:
        return ""
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))[:most]


def totals(sums: Sequence[Any]) -> Totals:
    """From the sums of one row, in their order."""
    return _TOTALS(*[money(value) if priced else whole(value) for value, priced in zip(sums, _IS_MONEY, strict=True)])


def added(each: Iterable[Totals]) -> Totals:
    every = list(each)
    if len(every) == 1:
        return every[0]
    columns = list(zip(*map(_NUMBERS, every), strict=True))
    return totals([sum(column) for column in columns]) if columns else Totals()


def dearest(shares: Iterable[Share], most: int) -> list[Share]:
    """Those that cost most; where that is nothing or the same, those with most tokens."""
    return sorted(shares, key=lambda one: (-one.totals.cost_usd, -one.totals.total, one.name, one.provider))[:most]
