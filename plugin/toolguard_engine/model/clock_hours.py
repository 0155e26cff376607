"""Times of a day and days of a week on some clock. Pure but for what the system knows of time zones."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from toolguard_engine import lazy_re

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = 24 * 60
_SPAN = lazy_re.compile(r"(\d\d):([0-5]\d) ?[-–] ?(\d\d):([0-5]\d)", re.ASCII)  # noqa: RUF001 - as people write it


@lru_cache(maxsize=200)
def span_of(text: str) -> tuple[int, int] | None:
    """`22:00-06:00` as minutes since midnight; the end is not in it. None for anything else, and for no span at all."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        return None
    start, end = int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4])
    return (start, end) if start < _DAY and end <= _DAY and start != end else None


@lru_cache(maxsize=200)
def zone(name: str) -> ZoneInfo | None:
    """A time zone by its name (`Europe/Vienna`); None where this machine has none of that name."""
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return None


def moment(at: float, clock: tzinfo | None) -> datetime | None:
    """Seconds since 1970 on this clock, None: the machine's own. None where it is not known when."""
    if not at > 0:
        return None
    try:
        return datetime.fromtimestamp(at, clock) if clock else datetime.fromtimestamp(at)  # noqa: DTZ006 - its own clock
    except (OverflowError, ValueError, OSError):
        return None


def within(now: datetime, span: tuple[int, int] | None, days: frozenset[int]) -> bool:
    """Whether it is in this span of one of these days (0 is Monday, none: all); None: the whole day.

    What passes midnight belongs to the day on which it began.
    """
    minute, day = now.hour * 60 + now.minute, now.weekday()
    if span is not None:
        start, end = span
        if start < end:
            if not start <= minute < end:
                return False
        elif minute < end:
            day = (day - 1) % 7
        elif minute < start:
            return False
    return not days or day in days
