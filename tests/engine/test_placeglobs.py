"""Both kinds of wildcard matching, checked with every name over a small alphabet."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.place_globs import fits, may_be, name_test, shell_fits

NAMES = ["".join(letters) for length in range(1, 5) for letters in product("ab.", repeat=length)]
PIECES = st.sampled_from(["*", "?", "a", "b", ".", "[ab]", "[!a]", "[a-b]"])
GLOBS = st.lists(PIECES, min_size=1, max_size=5).map("".join)


def covered(pattern: str, name: str) -> bool:
    """The oracle: tries every text that a `*` can match."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(covered(pattern[1:], name[at:]) for at in range(len(name) + 1))
    piece = pattern[: pattern.index("]") + 1] if pattern[0] == "[" else pattern[0]
    one = "." if piece == "?" else piece.replace("[!", "[^") if piece[0] == "[" else re.escape(piece)
    return bool(name and re.match(one, name[0])) and covered(pattern[len(piece) :], name[1:])


def hides(pattern: str, name: str) -> bool:
    """A shell skips names that begin with a dot unless the pattern may begin with one."""
    return name.startswith(".") and not pattern.startswith((".", "["))


@settings(max_examples=150, deadline=None)
@given(GLOBS)
def test_generous_matching(pattern: str) -> None:
    for name in NAMES:
        if covered(pattern, name):
            assert fits(pattern, name), name
            assert shell_fits(pattern, name) or hides(pattern, name), name


@settings(max_examples=150, deadline=None)
@given(GLOBS, GLOBS)
def test_unknown_parts_match_any_text(before: str, after: str) -> None:
    for name in NAMES:
        if covered(f"{before}*{after}", name):
            assert may_be(f"{before}{UNKNOWN}{after}", name), name


@settings(max_examples=150, deadline=None)
@given(st.text("ab.*?", min_size=1, max_size=6))
def test_strict_matching(pattern: str) -> None:
    test = name_test(pattern)
    for name in NAMES:
        assert bool(test(name)) == covered(pattern, name), name


@pytest.mark.parametrize(("pattern", "name"), [("[ab]", "a"), ("[!b]*", "a"), ("[a-b]", "b")])
def test_a_list_matches_only_its_own_names(pattern: str, name: str) -> None:
    assert not name_test(pattern)(name)
    assert name_test(pattern)(pattern.replace("*", "x"))
