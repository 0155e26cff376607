"""What it costs `re` to search a hostile text: a bound for the regular expressions of the rules that come with toolguard.

`_cost` counts, for one place in a text, the steps of a search that finds nothing, and the ways in which what comes next
could be tried. A choice (another round of a repeat or none, this branch or that) is no way of its own where the next
character decides it: `(?:\\.\\w+)*` is one way, `(?:\\w+\\s?)*` countless. A step is one comparison of a character.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any

from toolguard_engine.rules.terms import LONGEST

_MOST = 25_000
"""Steps from one place: `.*` and what is behind it at each place, or a repeat of a group; not two of them."""

_HUGE = 10**12
_ROUND = 8
"""Steps that one round of a repeated group costs beside its own."""

_ROUNDS = 20
_OTHER = -1
_ASCII = 128
_ALL = frozenset((*range(_ASCII), _OTHER))
_NO: frozenset[int] = frozenset()
_CATEGORIES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w", "NOT_DIGIT": r"\D", "NOT_SPACE": r"\S", "NOT_WORD": r"\W"}

Set = frozenset[int]
"""Characters by number; `_OTHER` is any that is not ASCII."""

Cost = tuple[int, int]
"""Steps and ways, at most `_HUGE` each."""

_ENDLESS: Cost = (_HUGE, _HUGE)


def too_expensive(pattern: str) -> bool:
    """Whether a search of a text of `LONGEST` characters could take more than `_MOST` steps from one place."""
    return steps(pattern, LONGEST) > _MOST


def steps(pattern: str, length: int) -> int:
    """The steps from one place in a text of this length."""
    return _cost(list(import_module("re._parser").parse(pattern)), _NO, length, ends=True)[0]


def _cost(items: Sequence[Any], follow: Set, length: int, *, ends: bool) -> Cost:
    """That of these items; `follow`: what can come behind them; `ends`: nothing does, the search is over."""
    steps, ways, at = 0, 1, 0
    loose = 0
    """The ways of the repeat of one character right before: each of them goes on at another place."""
    while at < len(items):
        operation, value = items[at]
        run = _run(items, at)
        if run:
            again = run.count(run[0])
            steps += ways * min(len(run), 1 + again)
            ways = ways // loose * -(-loose * again // len(run)) if loose else ways
            loose, at = 0, at + len(run)
        elif str(operation) == "AT":
            if at == 0 and str(value) == "AT_BEGINNING_STRING":  # the rest is tried at one place of all
                rest = _cost(items[1:], follow, length, ends=ends)
                return 1 + -(-rest[0] // max(1, length)), rest[1]
            steps, at = steps + ways, at + 1
        else:
            at += 1
            behind, empty = _first(items[at:])
            own = _cost_of(
                str(operation), value, behind | follow if empty else behind, length, ends=ends and at == len(items)
            )
            steps, ways = steps + ways * own[0], ways * own[1]
            loose = own[1] if str(operation).endswith("_REPEAT") and _is_single(value[2]) else 0
        if steps > _HUGE or ways > _HUGE:
            return _ENDLESS
    return steps, ways


def _run(items: Sequence[Any], at: int) -> tuple[int, ...]:
    """The characters that stand here as themselves, one behind the other."""
    end = at
    while end < len(items) and str(items[end][0]) == "LITERAL":
        end += 1
    return tuple(value for _, value in items[at:end])


def _is_single(body: Sequence[Any]) -> bool:
    return len(body) == 1 and str(body[0][0]) in ("ANY", "IN", "LITERAL", "NOT_LITERAL", "CATEGORY")


def _cost_of(operation: str, value: Any, follow: Set, length: int, *, ends: bool) -> Cost:
    match operation:
        case "BRANCH":
            return _cost_of_branches(value[1], follow, length, ends=ends)
        case "SUBPATTERN":
            return _cost(value[3], follow, length, ends=ends)
        case "ASSERT" | "ASSERT_NOT":
            return _cost(value[1], _NO, length, ends=False)[0], 1
        case "ATOMIC_GROUP":
            return _cost(value, _NO, length, ends=False)[0], 1
        case "POSSESSIVE_REPEAT":
            steps, ways = _cost_of_repeat(value, _NO, length, ends=False)
            return (steps, 1) if ways == 1 else _ENDLESS
        case "MAX_REPEAT" | "MIN_REPEAT":
            return _cost_of_repeat(value, follow, length, ends=ends)
        case "GROUPREF" | "GROUPREF_EXISTS":
            return _ENDLESS
        case _:
            return 1, 1


def _rounds(value: Any, length: int) -> int:
    """How often a repeat can go round in a text of this length."""
    least, most, body = value
    return int(min(most, max(least, length // max(1, body.getwidth()[0]))))


def _cost_of_repeat(value: Any, follow: Set, length: int, *, ends: bool) -> Cost:
    least, most, body = min(int(value[0]), LONGEST), int(value[1]), value[2]
    first, empty = _first(body)
    if empty and most > 1:
        return _ENDLESS
    inner = _cost(body, first | follow if most > 1 else follow, length, ends=False)
    if inner[1] > 1:
        ways = int(inner[1] ** min(most, _ROUNDS)) + (0 if least else 1)
        return ways * (_ROUND + inner[0]), ways
    rounds = _rounds(value, length)
    if ends:
        return least * (_ROUND + inner[0]), 1
    ways = 1 if not first & follow else max(rounds - least, 0) + 1
    if _is_single(body):
        return rounds, ways
    if "ASSERT" in repr(body):  # it looks at the same characters again in each round
        return rounds * (_ROUND + inner[0]), ways
    plain = _cost(body, first | follow, 1, ends=False)[0]
    return min(rounds * (_ROUND + inner[0]), rounds * (_ROUND + plain) + length), ways


def _cost_of_branches(branches: Sequence[Any], follow: Set, length: int, *, ends: bool) -> Cost:
    """The most that can be tried behind one and the same character."""
    tried = [(_cost(branch, follow, length, ends=ends), *_first(branch)) for branch in branches]
    steps, ways = dict.fromkeys(_ALL, len(branches)), dict.fromkeys(_ALL, 0)
    for cost, first, empty in tried:
        for character in _ALL if empty else first:
            steps[character] += cost[0]
            ways[character] += cost[1]
    return max(steps.values()), 1 if _tell_apart(branches) else max(ways.values())


def _tell_apart(branches: Sequence[Any]) -> bool:
    """Whether these are words of which none begins with another one, in small letters or capitals: at most one fits."""
    words = ["".join(map(chr, _run(branch, 0))).lower() for branch in branches]
    if not all(word.isascii() and len(word) == len(branch) for word, branch in zip(words, branches, strict=True)):
        return False
    return not any(after.startswith(word) for word, after in pairwise(sorted(words)))


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
