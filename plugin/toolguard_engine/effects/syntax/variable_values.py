"""The values that a variable of the shell may have: one, or several if they depend on conditions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN

Value = str | tuple[str, ...]
"""The value of a variable; several if it depends on a condition."""

MAX_VALUE = 8_192
MAX_CHOICES = 8
"""Values of one variable."""

MAX_PIECES = 64
"""Values that are kept as one, but can be told apart."""

BETWEEN = "\x1e"
"""Stands between values that are kept as one. It is a blank, so that they are words if nobody tells them apart."""

REST = UNKNOWN * 2
"""Stands for the values of a variable that are not kept."""

FEW = 4
"""Values that a variable gets by those of others. If there were more, it gets all of them as one."""

_MANY_UNKNOWN = 3
"""Unknown parts of a value from which on those in a row are one, or two words: a list that grows by them stays the same."""

_LONG = 200
"""Characters of several values from which on words are left out that stand where they stood before."""


def all_of(value: Value) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def bounded(value: str) -> str:
    """A value that a variable gets, as far as it is kept."""
    value = _without_rows(value)
    return value if len(value) <= MAX_VALUE else UNKNOWN


def _without_rows(value: str) -> str:
    if value.count(UNKNOWN) < _MANY_UNKNOWN:
        return value
    return _ROWS.sub(f"{UNKNOWN} {UNKNOWN}", _NEXT.sub(UNKNOWN, value))


def one_of(values: dict[str, None]) -> Value:
    """A variable with one of these values. If they are many, the first and the last ones are kept, and those between them
    as one value with signs between them, or with a sign that there are more."""
    if len(values) == 1:
        return next(iter(values))
    first, *others = values
    if len(values) <= MAX_CHOICES:
        return first, *others
    return first, _kept_as_one(others[: 2 - MAX_CHOICES]), *others[2 - MAX_CHOICES :]


def _kept_as_one(values: list[str]) -> str:
    parts = dict.fromkeys(pieces(values))
    text = BETWEEN.join(parts)
    if len(parts) <= MAX_PIECES and len(text) <= MAX_VALUE:
        return text
    words = in_one(tuple(part for part in parts if part != REST))
    return f"{words}{BETWEEN}{REST}" if len(words) <= MAX_VALUE else REST


def pieces(values: Iterable[str]) -> list[str]:
    """All values, those that are kept as one as well."""
    return [part for value in values for part in value.split(BETWEEN)]


@lru_cache(maxsize=32)
def in_one(values: tuple[str, ...]) -> str:
    """All values as one text. Those that grew out of each other (`x="$x $y"`) are in it once: it would double each time."""
    text = _without_rows(" ".join(values).replace(BETWEEN, " "))
    if len(text) <= _LONG or _SYNTAX.search(text):
        return text
    return " ".join(_pairs(_UNKNOWNS.sub(UNKNOWN, text).split()))


_SYNTAX = lazy_re.compile(r"[;|&(){}<>$`'\"\\\n#]")
_NEXT = lazy_re.compile(rf"{UNKNOWN}{{2,}}")
_ROWS = lazy_re.compile(rf"(?<!\S){UNKNOWN}(?>(?:[ \t]++{UNKNOWN}){{2,}})(?!\S)")
_UNKNOWNS = lazy_re.compile(rf"{UNKNOWN}(?>(?:[ \t]++{UNKNOWN})+)(?!\S)")
"""Words that are unknown, in a row: together they are as unknown as one."""


def _pairs(words: list[str]) -> list[str]:
    """Pairs without words that stand where they stood before: behind the same word and before the same one."""
    seen = set[tuple[str, str]]()
    kept = [True, *[False] * len(words)]
    for at, pair in enumerate(pairwise(words)):
        if pair not in seen:
            seen.add(pair)
            kept[at] = kept[at + 1] = True
    return [word for word, is_kept in zip(words, kept, strict=False) if is_kept]
