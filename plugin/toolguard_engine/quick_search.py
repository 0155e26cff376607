"""A quick look whether a pattern may be in a long text, before it is searched for: almost none is in most texts.

Python's `re` tries each alternative at each character. RE2 (google-re2) passes over a text once, fifty times as fast, but
does not know all that our patterns say. So it searches for what each of them becomes without that: a text in which it
finds nothing does not have the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from toolguard_engine import lazy_re

SHORT = 1_000
"""Up to so many characters, searching for the pattern itself is as fast."""

MEMORY = 1_000_000
"""Bytes that RE2 may use for one pattern."""

_SIGN = lazy_re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?:[=!>:]|<[=!]|[a-z]+:)|\{\d*(?:,\d*)?\}|.", re.DOTALL)
_LOOKAROUNDS = frozenset({"(?=", "(?!", "(?<=", "(?<!"})
_SPACE = r"\t-\r\x1c-\x20"
_FLAGS = lazy_re.compile(r"\(\?[a-z]")
_WIDE = lazy_re.compile(r"[^\x00-\x7f]")
_REPEATS = frozenset("*+?{")


def may_be_in(pattern: re.Pattern[str], text: str) -> bool:
    """False only if the pattern, itself in ASCII, is surely not in the text."""
    if len(text) < SHORT:
        return True
    ignore_case = pattern.flags & re.IGNORECASE
    if text.isascii():
        return _search(pattern.pattern, ignore_case, wide=False)(text.encode()) is not None
    if ignore_case or _FLAGS.search(pattern.pattern):  # other letters may count as one of ASCII
        return True
    return _search(pattern.pattern, ignore_case, wide=True)(_narrowed(text)) is not None


def first_in(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Where the pattern, itself in ASCII, is first in the text."""
    return pattern.search(text) if may_be_in(pattern, text) else None


@lru_cache(maxsize=8)
def _narrowed(text: str) -> bytes:
    """A byte for each character: those that are not ASCII are all the same."""
    return _WIDE.sub("\x80", text).encode("latin-1")


@cache
def _search(pattern: str, ignore_case: int, *, wide: bool) -> Any:
    import re2  # noqa: PLC0415 - only for a long text: its library takes 10 ms to load

    options = re2.Options()
    options.encoding, options.never_capture, options.max_mem = re2.Options.Encoding.LATIN1, True, MEMORY
    options.case_sensitive, options.dot_nl = not ignore_case, True
    return re2.compile(loosened(pattern, wide=wide).encode("ascii"), options).search


def loosened(pattern: str, *, wide: bool = False) -> str:
    """A pattern in RE2's syntax that finds something in each text in which Python finds this one: without what looks ahead
    or back, and with any number of repetitions in place of a limited one. `wide`: the text is `_narrowed`."""
    return "".join(_loosened(_SIGN.finditer(pattern), wide=wide))


def _loosened(signs: Iterator[re.Match[str]], *, wide: bool) -> Iterator[str]:
    before = ""
    for match in signs:
        sign = match[0]
        if sign in _LOOKAROUNDS:
            _skip(signs)
        elif sign == "+" and before[:1] in _REPEATS:  # possessive
            before = ""
        else:
            before = _as_re2(sign)
            yield _widened(before) if wide else before


def _widened(sign: str) -> str:
    """The other characters may be letters, digits, blanks or none of these, so nothing is known of the ends of words."""
    if sign in (r"\b", r"\B"):
        return ""
    if sign[0] == "[" and sign[1] != "^" and (_SPACE in sign or r"\w" in sign or r"\d" in sign):
        return rf"{sign[:-1]}\x80]"
    return rf"[{sign}\x80]" if sign in (r"\w", r"\d") else sign


def _skip(signs: Iterator[re.Match[str]]) -> None:
    """What a group that looks ahead or back has up to its end."""
    depth = 1
    while depth:
        sign = next(signs)[0]
        depth += (sign[0] == "(") - (sign == ")")


def _as_re2(sign: str) -> str:
    if sign == "(?>":
        return "(?:"
    if sign in (r"\Z", "$"):
        return r"\n?\z"
    if sign[0] == "[":
        return sign.replace(r"\s", _SPACE)
    if sign in (r"\s", r"\S"):
        return f"[{'^' if sign == chr(92) + 'S' else ''}{_SPACE}]"
    if sign[0] == "{" and "," in sign:
        return "*" if sign[1] in "0," else "+"
    return sign
