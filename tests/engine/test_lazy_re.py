"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import re
import subprocess
import sys
import types

import pytest

from toolguard_engine import lazy_re


def test_a_pattern_has_the_answers_of_a_compiled_one() -> None:
    lazy, real = lazy_re.compile(r"(?P<name>b)+|x", re.IGNORECASE), re.compile(r"(?P<name>b)+|x", re.IGNORECASE)
    text = "aBbXc"
    for method in ("search", "findall", "split"):
        assert repr(getattr(lazy, method)(text)) == repr(getattr(real, method)(text))
    assert lazy.sub("-", text, 1) == real.sub("-", text, 1)
    assert [found.span() for found in lazy.finditer(text)] == [found.span() for found in real.finditer(text)]
    assert lazy.search(text, 3) is not None
    assert lazy.fullmatch(text) is None
    assert (lazy.pattern, lazy.flags, lazy.groups) == (real.pattern, real.flags, real.groups)
    assert lazy.groupindex == real.groupindex


def test_a_pattern_of_bytes() -> None:
    assert lazy_re.compile(rb"a+").findall(b"aaba") == [b"aa", b"a"]


def test_a_pattern_that_is_none_fails_when_it_is_used() -> None:
    wrong = lazy_re.compile("(")
    try:
        with pytest.raises(re.error):
            wrong.match("")
    finally:
        lazy_re._waiting.pop(id(wrong))


def test_those_that_were_not_used_are_compiled_and_take_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("toolguard_engine.some_module")
    module.ONE, module.BY_NAME = lazy_re.compile("one"), {"two": lazy_re.compile("two")}  # type: ignore[attr-defined]
    held = (lazy_re.compile("three"),)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for _ in lazy_re.unused():
        pass
    assert isinstance(module.ONE, re.Pattern)
    assert isinstance(module.BY_NAME["two"], re.Pattern)
    assert isinstance(held[0], lazy_re.LazyPattern)
    assert not lazy_re._waiting
    assert held[0].match("three")


ALL = """
import sys
from toolguard_engine import __main__, lazy_re
from toolguard_engine.server import preload
preload.load()
waiting = len(lazy_re._waiting)
for _ in lazy_re.unused():
    pass
modules = [module for name, module in sys.modules.items() if name.startswith("toolguard_")]
left = [value for module in modules for value in vars(module).values() if isinstance(value, lazy_re.LazyPattern)]
print(waiting > 500, len(lazy_re._waiting), left)
"""


def test_all_of_the_engine_can_be_compiled() -> None:
    done = subprocess.run([sys.executable, "-c", ALL], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "0", "[]"]
