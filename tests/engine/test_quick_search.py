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
ANY = st.one_of(ASCII, st.sampled_from("\u00e9\u00a0\u0663\u2192\u017f"))
LONG = f"{'x = y ' * SHORT}\n"


def patterns(module: ModuleType) -> list[re.Pattern[str]]:
    found = [each.compiled if isinstance(each, LazyPattern) else each for each in vars(module).values()]
    return [each for each in found if isinstance(each, re.Pattern)]


ALL = [*patterns(interpreter_code), *patterns(process_signals)]


@pytest.mark.parametrize("pattern", some(ALL), ids=lambda each: each.pattern[:30])
@settings(max_examples=examples(10), deadline=None)
@given(st.data())
def test_texts_that_have_a_pattern_may_have_it(pattern: re.Pattern[str], data: st.DataObject) -> None:
    for alphabet, behind in ((ASCII, LONG), (ANY, f"\u00e9{LONG}")):
        text = f"{LONG}{data.draw(st.from_regex(pattern, alphabet=alphabet))}\n{behind}"
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


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"a\wb", "a\u00e9b"), (r"a[\s,]b", "a\u00a0b"), (r"a\db", "a\u0663b"), (r"a[^\s]b", "a\u00e9b"),
        (r"a\Wb", "a\u2192b"),
        (r"a\w\b,", "a\u00e9,"), (r"a.{2}b", "a\U0001f600\u00e9b"), (r"(?i:as)b", "A\u017fb"), (r"a\Sb", "a\u00e9b"),
    ],
)  # fmt: skip
def test_each_form_in_a_text_of_other_characters(pattern: str, text: str) -> None:
    compiled = re.compile(pattern)
    assert compiled.search(LONG + text)
    assert may_be_in(compiled, LONG + text)
    assert not may_be_in(compiled, f"{LONG}\u00e9") or "(?i" in pattern


def test_short_texts_are_searched_by_the_pattern() -> None:
    pattern = re.compile("never")
    assert may_be_in(pattern, "x")
    assert not may_be_in(pattern, LONG)
    assert may_be_in(re.compile("NEVER", re.IGNORECASE), f"{LONG}never")
    assert may_be_in(re.compile("s", re.IGNORECASE), f"{'x = y ' * SHORT}\u017f")


def test_no_look_and_no_limit_is_left() -> None:
    assert loosened(r"(?<!a(b)[(])c{1,200}+(?!\)d)e") == "c+e"
    assert loosened(string.ascii_letters) == string.ascii_letters
