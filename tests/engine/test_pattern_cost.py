"""What the regular expressions of our own rules may cost `re`: a bound of its steps, held against a matcher that counts."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import pattern_cost
import toolguard_engine
from effort import examples
from pattern_cost import steps, too_expensive
from tables import each_row
from toolguard_engine import lazy_re
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


@each_row("pattern", REFUSED)
def test_too_expensive(pattern: str) -> None:
    assert too_expensive(pattern)


@each_row("pattern", FINE)
def test_affordable(pattern: str) -> None:
    assert not too_expensive(pattern)


def test_no_rule_that_comes_with_toolguard_is() -> None:
    rules = [rule for pack in rulepacks.packs().values() for rule in pack]
    assert [(rule.id, pattern) for rule in rules for pattern in patterns_of(rule) if too_expensive(pattern)] == []


def patterns_of(rule: Rule) -> tuple[str, ...]:
    return (rule.arg, rule.no_arg, rule.text, rule.unless, *(pattern for _, pattern in rule.params))


# --- the engine's own patterns ------------------------------------------------------------------------------------------

SEARCHES = ("search", "finditer", "findall", "sub", "subn", "split")


def searched() -> Iterator[tuple[str, re.Pattern[str]]]:
    """The patterns of the engine that are tried at each place of a text."""
    for info in pkgutil.walk_packages(toolguard_engine.__path__, "toolguard_engine."):
        if info.name.endswith("__main__"):
            continue
        module = import_module(info.name)
        calls = [node.func for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Call)]
        searches = [call for call in calls if isinstance(call, ast.Attribute) and call.attr in SEARCHES]
        for name in sorted({call.value.id for call in searches if isinstance(call.value, ast.Name)}):
            pattern = getattr(module, name, None)
            if isinstance(pattern, re.Pattern | lazy_re.LazyPattern) and isinstance(pattern.pattern, str):
                yield f"{info.name}.{name}", pattern


def walks_from_each_place(pattern: re.Pattern[str]) -> bool:
    """Whether a search may go on to the end of a long run of characters from each of them, and find nothing."""
    return _walks(list(import_module("re._parser").parse(pattern.pattern, pattern.flags)), pattern_cost._ALL)


def _walks(items: Sequence[Any], begins: frozenset[int]) -> bool:
    """`begins`: what may stand before a place at which a search begins."""
    if not items:
        return False
    (code, value), rest = items[0], items[1:]
    match str(code):
        case "AT":
            return str(value) == "AT_BEGINNING" and _walks(rest, frozenset({ord("\n")}))
        case "ASSERT" | "ASSERT_NOT":
            return value[0] > 0 and _walks(rest, begins)
        case "SUBPATTERN":
            return _walks([*value[3], *rest], begins)
        case "ATOMIC_GROUP":
            return _walks([*value, *rest], begins)
        case "BRANCH":
            return any(_walks([*branch, *rest], begins) for branch in value[1])
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT" if int(value[1]) >= pattern_cost.LONGEST:
            again, _ = pattern_cost._first(value[2])
            return not again.isdisjoint(begins) and not pattern_cost._first(rest)[1]
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT" if value[0] == 0:
            return _walks(rest, begins)
        case _:
            return False


def test_no_search_of_the_engine_walks_a_text_from_each_of_its_places() -> None:
    """64 kB of blanks would take minutes. A repeat that begins a pattern is bounded, or begins at the run's beginning."""
    found = dict(searched())
    assert len(found) > 100
    assert [name for name, pattern in found.items() if walks_from_each_place(pattern)] == []


@each_row("pattern", [r"\s*[,;]\s*", r"(?im)^\s*(?:global)\b", r"(?:-o)?\s*host", r"\w++!", r"(a|(?:b)+)c"])
def test_a_search_that_walks_from_each_place(pattern: str) -> None:
    assert walks_from_each_place(re.compile(pattern))


@each_row("pattern", [r"[,;]", r"(?m)^[^\S\n]*x", r"(?<!\s)\s*host", r"\w+", r"\A\s*x", r"\bx*y", r"a{1,9}b"])
def test_a_search_that_does_not(pattern: str) -> None:
    assert not walks_from_each_place(re.compile(pattern))


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
