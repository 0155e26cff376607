"""A quick look finds whatever the pattern itself finds."""

from __future__ import annotations

import re
import string
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples, some
from toolguard_engine.layers.self_protection import interpreter_code, process_signals
from toolguard_engine.lazy_re import LazyPattern
from toolguard_engine.quick_search import SHORT, loosened, may_be_in

ASCII = st.characters(min_codepoint=0, max_codepoint=127)
LONG = f"{'x = y ' * SHORT}\n"


def patterns(module: ModuleType) -> list[re.Pattern[str]]:
    found = [each.compiled if isinstance(each, LazyPattern) else each for each in vars(module).values()]
    return [each for each in found if isinstance(each, re.Pattern)]


ALL = [*patterns(interpreter_code), *patterns(process_signals)]


@pytest.mark.parametrize("pattern", some(ALL), ids=lambda each: each.pattern[:30])
@settings(max_examples=examples(10), deadline=None)
@given(st.data())
def test_texts_that_have_a_pattern_may_have_it(pattern: re.Pattern[str], data: st.DataObject) -> None:
    text = f"{LONG}{data.draw(st.from_regex(pattern, alphabet=ASCII))}\n{LONG}"
    assert may_be_in(pattern, text) or not pattern.search(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"a(?!b)c", "ac"), (r"(?<!x)a(?=[)(]b?)", "a("), (r"(?>ab*+)c++d?+", "abbbcc"), (r"a{2,3}+b{0,5}c", "aaac"),
        (r"[]\s]a[^\]\s]\Z", "\x1fab"), (r"a\sb\Sc", "a\x0bb.c"), (r"\(\?\!a", "(?!a"), (r"a.b$", "a\nb\n"),
        (r"(?i:ab)c", "ABc"),
    ],
)  # fmt: skip
def test_each_form_of_a_pattern(pattern: str, text: str) -> None:
    compiled = re.compile(pattern, re.DOTALL)
    assert compiled.search(LONG + text)
    assert may_be_in(compiled, LONG + text)
    assert not may_be_in(compiled, LONG)


def test_short_texts_and_those_that_are_not_ascii_are_searched_by_the_pattern() -> None:
    pattern = re.compile("never")
    assert may_be_in(pattern, "x")
    assert may_be_in(pattern, f"{LONG}\u00e9")
    assert not may_be_in(pattern, LONG)
    assert may_be_in(re.compile("NEVER", re.IGNORECASE), f"{LONG}never")


def test_no_look_and_no_limit_is_left() -> None:
    assert loosened(r"(?<!a(b)[(])c{1,200}+(?!\)d)e") == "c+e"
    assert loosened(string.ascii_letters) == string.ascii_letters
