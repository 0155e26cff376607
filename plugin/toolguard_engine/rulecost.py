"""Whether a regular expression can be trusted with a text that an enemy wrote.

`ways` bounds how often a search could start over from one place in the text. A choice (another round of a repeat or none,
this branch or that) costs nothing where the next character decides it: `(?:\\.\\w+)*` is one way, `(?:\\w+\\s?)*` countless.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

_MOST = 50_000
_OPEN = 4_000
"""What a repeat without an end counts as: no longer text is searched as a whole (`ruleterms.LONGEST`)."""

_ROUNDS = 20
_OTHER = -1
_ASCII = 128
_ALL = frozenset((*range(_ASCII), _OTHER))
_NO: frozenset[int] = frozenset()
_CATEGORIES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w", "NOT_DIGIT": r"\D", "NOT_SPACE": r"\S", "NOT_WORD": r"\W"}

Set = frozenset[int]
"""Characters by number; `_OTHER` is any that is not ASCII."""


def dear(pattern: str) -> str:
    """Why this regular expression is refused; empty where it is fine. Never raises."""
    try:
        re.compile(pattern)
        ways = _ways(list(import_module("re._parser").parse(pattern)), _NO)
    except (re.error, OverflowError) as error:
        return f"no regular expression: {error}"
    except RecursionError:
        return "nested too deeply"
    if ways > _MOST:
        return "could take very long: repeats in repeats, or too many open ones; write {0,80} or *+ instead of *"
    return ""


def _ways(items: Sequence[Any], follow: Set) -> int:
    """The ways through these items; `follow`: what can come behind them."""
    ways = 1
    for number, (operation, value) in enumerate(items):
        behind, empty = _first(items[number + 1 :])
        ways *= _ways_of(str(operation), value, behind | follow if empty else behind)
        if ways > _MOST:
            return _MOST + 1
    return ways


def _ways_of(operation: str, value: Any, follow: Set) -> int:
    match operation:
        case "BRANCH":
            return _ways_of_branches(value[1], follow)
        case "SUBPATTERN":
            return _ways(value[3], follow)
        case "ASSERT" | "ASSERT_NOT":
            return _ways(value[1], _ALL)
        case "ATOMIC_GROUP":
            return 1 if _ways(value, _ALL) <= _OPEN else _MOST + 1
        case "POSSESSIVE_REPEAT":
            return 1 if _ways(value[2], _ALL) == 1 else _MOST + 1
        case "MAX_REPEAT" | "MIN_REPEAT":
            return _ways_of_repeat(int(value[0]), int(value[1]), value[2], follow)
        case "GROUPREF" | "GROUPREF_EXISTS":
            return _MOST + 1
        case _:
            return 1


def _ways_of_repeat(least: int, most: int, body: Sequence[Any], follow: Set) -> int:
    first, empty = _first(body)
    inner = _ways(body, first | follow if most > 1 else follow)
    if empty and most > 1:
        return _MOST + 1
    if inner == 1:
        return 1 if not first & follow else min(most, _OPEN) - min(least, _OPEN) + 1
    return int(inner ** min(most, _ROUNDS)) + (0 if least else 1)


def _ways_of_branches(branches: Sequence[Any], follow: Set) -> int:
    """The most that can be tried behind one and the same character."""
    tried = [(_ways(branch, follow), *_first(branch)) for branch in branches]
    counts = dict.fromkeys(_ALL, 0)
    for ways, first, empty in tried:
        for character in _ALL if empty else first:
            counts[character] += ways
    return max(counts.values())


def _first(items: Sequence[Any]) -> tuple[Set, bool]:
    """The characters with which the items can begin, and whether they can be nothing at all."""
    found = _NO
    for operation, value in items:
        first, empty = _first_of(str(operation), value)
        found |= first
        if not empty:
            return found, False
    return found, True


def _first_of(operation: str, value: Any) -> tuple[Set, bool]:
    match operation:
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return _NO, True
        case "BRANCH":
            parts = [_first(branch) for branch in value[1]]
            return frozenset().union(*(first for first, _ in parts)), any(empty for _, empty in parts)
        case "SUBPATTERN":
            return _first(value[3])
        case "ATOMIC_GROUP":
            return _first(value)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            first, empty = _first(value[2])
            return first, empty or value[0] == 0
        case _:
            return _set(operation, value), operation.startswith("GROUPREF")


def _set(operation: str, value: Any) -> Set:
    """The characters that one item stands for, in both cases."""
    match operation:
        case "LITERAL":
            return _both(value)
        case "NOT_LITERAL":
            return _ALL - {value}
        case "RANGE":
            return frozenset().union(*(_both(number) for number in (*range(value[0], min(value[1], _ASCII)), value[1])))
        case "CATEGORY":
            return _category(str(value).removeprefix("CATEGORY_"))
        case "IN":
            named: Set = frozenset().union(*(_set(str(item), part) for item, part in value if str(item) != "NEGATE"))
            return (_ALL - named) | {_OTHER} if str(value[0][0]) == "NEGATE" else named
        case _:
            return _ALL


@cache
def _both(number: int) -> Set:
    cases = (chr(number), chr(number).lower(), chr(number).upper())
    return frozenset(ord(one) if len(one) == 1 and ord(one) < _ASCII else _OTHER for one in cases)


@cache
def _category(name: str) -> Set:
    pattern = _CATEGORIES.get(name)
    if pattern is None:
        return _ALL
    return frozenset(number for number in range(_ASCII) if re.match(pattern, chr(number))) | {_OTHER}
