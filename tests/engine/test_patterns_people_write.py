"""Regular expressions that people write: what they find, which are refused and what the refusal says."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.rules import packs as rulepacks
from toolguard_engine.rules.patterns import MAX_SIZE, compiled, why_refused
from toolguard_engine.rules.rulebook import Rule

RULES = [rule for rules in rulepacks.packs().values() for rule in rules]

REFUSED = [
    ("a(?=b)", "look-ahead and look-behind are not supported; write what must be there without them"),
    ("(?<!x)a", "look-ahead and look-behind are not supported; write what must be there without them"),
    (r"(a)\1", "back-references are not supported; write out what may repeat"),
    ("(?P<n>a)(?P=n)", "back-references are not supported; write out what may repeat"),
    ("(?>a)b", "atomic groups are not supported; write (?:...) instead of (?>...)"),
    ("a*+b", "possessive repeats are not supported; leave out the second +"),
    ("a{0,4000}", "nothing can repeat more than 1000 times; write * or + instead"),
    ("(?:.{0,1000}){9}", "nothing can repeat more than 1000 times; write * or + instead"),
    (".{0,1000}a.{0,1000}", "it is too large; repeat fewer times, or write * or + instead of {...}"),
    ("(", "not a regular expression: missing ): ("),
]


@pytest.mark.parametrize(("pattern", "why"), REFUSED, ids=[pattern for pattern, _ in REFUSED])
def test_refused(pattern: str, why: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert why_refused(pattern) == why
    assert capfd.readouterr() == ("", "")


@each_row(
    ("pattern", "text", "found"),
    [
        (r"\bprod\b", "kubectl -n prod", True),
        (r"prod\Z", "prod", True),
        (r"prod\Z", "prod\n", False),
        (r"a\\Z", r"a\Z", True),
        ("(?i)PROD", "prod", True),
        ("é", "café", True),
        ("a.c", "a\udc80c", True),
        ("(a|aa)+$", "a" * 200_000 + "b", False),
        ("(?:x?){200}x{200}", "x" * 199, False),
    ],
)
def test_found(pattern: str, text: str, *, found: bool) -> None:
    assert compiled(pattern).search(text) is found


def test_the_rules_that_come_with_toolguard_could_be_written_by_people() -> None:
    found = [(rule.id, why) for rule in RULES for pattern in patterns_of(rule) if (why := why_refused(pattern))]
    assert found == []


def patterns_of(rule: Rule) -> tuple[str, ...]:
    return (rule.arg, rule.no_arg, rule.text, rule.unless, *(pattern for _, pattern in rule.params))


@given(st.sampled_from(RULES), st.text(" -=/.:@abcdehoprstuwx0123456789", max_size=40))
def test_both_engines_find_the_same(rule: Rule, text: str) -> None:
    for pattern in filter(None, (rule.arg, rule.no_arg, rule.text, rule.unless)):
        assert compiled(pattern).search(text) is (re.search(pattern, text) is not None), pattern


def test_no_pattern_is_larger() -> None:
    assert compiled(".{0,1000}").size <= MAX_SIZE
