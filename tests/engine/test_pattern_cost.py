"""What the regular expressions of our own rules may cost `re`: a bound of its steps, held against a matcher that counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pattern_cost
from effort import examples
from pattern_cost import steps, too_expensive
from toolguard_engine.rules import packs as rulepacks
from toolguard_engine.rules.rulebook import Rule

REFUSED = [
    "a*a*b",
    "(a|b)*c",
    "a{0,900}a{0,900}b",
    "a*b*a*c",
    "(a|b)+(b|a)+c",
    r"\w*\d*x",
    "(?:(?:a|a)foo){20}",
    "(?i)(?:ab|AB){30}c",
    "(?:(?=.*x)a){0,1000}b",
    "(?>(?:a|aa)*)b",
    r"\A.*a.*b.*c",
    "(?=.*a.*b)c",
    "x(a*)*",
]
FINE = [
    r"\bprod\b",
    "kubectl.*prod",
    r"kubectl.*--context[= ]prod\b",
    ".*deployment",
    "(?:a|b){0,200}c",
    r"(?:ab|cd)+x",
    "(?>a*)b",
    "[a-z]*+!",
    "(?=.*prod).{0,80}delete",
    r"[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]{1,63}\.[A-Za-z]{2,}",
]


@pytest.mark.parametrize("pattern", REFUSED)
def test_too_expensive(pattern: str) -> None:
    assert too_expensive(pattern)


@pytest.mark.parametrize("pattern", FINE)
def test_affordable(pattern: str) -> None:
    assert not too_expensive(pattern)


@pytest.mark.parametrize("rule", [rule for rules in rulepacks.packs().values() for rule in rules], ids=lambda rule: rule.id)
def test_no_rule_that_comes_with_toolguard_is(rule: Rule) -> None:
    patterns = (rule.arg, rule.no_arg, rule.text, rule.unless, *(pattern for _, pattern in rule.params))
    assert [pattern for pattern in patterns if too_expensive(pattern)] == []


# --- held against a matcher that counts ---------------------------------------------------------------------------------

Rest = Callable[[int], Iterator[int]]


class Matcher:
    """Tries everything that a backtracking search tries, and counts the characters that it compares."""

    def __init__(self, pattern: str, text: str) -> None:
        self.text, self.steps = text, 0
        self.items = list(import_module("re._parser").parse(pattern))

    def search(self) -> int:
        for start in range(len(self.text) + 1):
            if next(self._all(self.items, 0, start), None) is not None:
                break
        return self.steps

    def _all(self, items: list[Any], number: int, at: int) -> Iterator[int]:
        if number == len(items):
            yield at
            return
        for end in self._one(str(items[number][0]), items[number][1], at):
            yield from self._all(items, number + 1, end)

    def _one(self, operation: str, value: Any, at: int) -> Iterator[int]:
        if operation == "SUBPATTERN":
            yield from self._all(list(value[3]), 0, at)
        elif operation == "BRANCH":
            for branch in value[1]:
                yield from self._all(list(branch), 0, at)
        elif operation in ("MAX_REPEAT", "MIN_REPEAT"):
            yield from self._rounds(list(value[2]), int(value[0]), int(value[1]), 0, at)
        else:
            self.steps += 1
            if at < len(self.text) and ord(self.text[at]) in pattern_cost._set(operation, value):
                yield at + 1

    def _rounds(self, body: list[Any], least: int, most: int, done: int, at: int) -> Iterator[int]:
        if done < most:
            for end in self._all(body, 0, at):
                if end > at:
                    yield from self._rounds(body, least, most, done + 1, end)
        if done >= least:
            yield at


def patterns() -> st.SearchStrategy[str]:
    single = st.sampled_from(["a", "b", "c", "[ab]", "."])
    return st.recursive(
        single,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=4).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
            st.tuples(inner, st.sampled_from(["*", "+", "?", "{0,9}", "{2,5}", "*?"])).map(
                lambda two: f"(?:{two[0]}){two[1]}"
            ),
        ),
        max_leaves=7,
    )


@settings(max_examples=examples(600))
@given(patterns(), st.text("abc", min_size=1, max_size=4))
def test_no_search_takes_more_steps_than_were_counted(pattern: str, seed: str) -> None:
    text = (seed * 40)[:40]
    bound = (len(text) + 1) * steps(pattern, 64)
    if too_expensive(pattern) or bound > 200_000:
        return
    assert Matcher(pattern, text).search() <= 3 * bound + 100


def test_the_matcher_counts() -> None:
    assert Matcher("aab", "aaaa").search() == 3 + 3 + 3 + 2 + 1
    assert Matcher("a*a*b", "a" * 30).search() > Matcher("a*b", "a" * 30).search() * 3
