"""Durations as people write them: `8h`, `30m`, `1d`, `1h30m`, `500ms`."""

from __future__ import annotations

import re

from toolguard_cli.system.errors import WrongOptionError
from toolguard_engine.wording import printable

SPELLED = "30m, 8h or 7d"
_UNITS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
"""Milliseconds, the largest unit first."""
_SPAN = re.compile("".join(rf"(?:(?P<{unit}>\d{{1,9}}){unit})?" for unit in _UNITS), re.ASCII)
MOST = 100 * 365 * _UNITS["d"]


def milliseconds(text: str) -> int | None:
    """The length of a duration; None if the text is none, or longer than a century."""
    match = _SPAN.fullmatch(text.strip().lower())
    total = sum(int(number) * _UNITS[unit] for unit, number in match.groupdict("0").items()) if match else 0
    return total if match and any(match.groups()) and total <= MOST else None


def seconds(text: str, option: str) -> int:
    """The length of an option's duration in whole seconds. Raises `WrongOptionError`."""
    if not (span := (milliseconds(text) or 0) // 1000):
        raise WrongOptionError(f"{option} {printable.cut(text, 40)!r} is not a duration", f"write it like {SPELLED}")
    return span
