"""Regular expressions that people write: searched by RE2, in time that grows with the text alone, whatever the pattern.

RE2 has no look-around, back-references, atomic groups or possessive repeats, and its `\\w`, `\\d`, `\\s` and `\\b` know
ASCII only. `\\Z`, Python's end of the text, is accepted beside RE2's own `\\z`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from toolguard_engine import lazy_re

MAX_SIZE = 10_000
"""Instructions of a compiled pattern: `.{0,1000}` has 9,000."""

_MAX_MEMORY = 1 << 20
"""Bytes that one compiled pattern may use, the states that a search remembers included."""

_ESCAPE = lazy_re.compile(r"\\(.)", re.DOTALL)
_ADVICE = (
    (lazy_re.compile(r"\(\?<?[=!]"), "look-ahead and look-behind are not supported; write what must be there without them"),
    (lazy_re.compile(r"\(\?P\Z"), "back-references are not supported; write out what may repeat"),
    (lazy_re.compile(r"escape sequence: \\[1-9]"), "back-references are not supported; write out what may repeat"),
    (lazy_re.compile(r"\(\?>"), "atomic groups are not supported; write (?:...) instead of (?>...)"),
    (lazy_re.compile(r"repetition operator: .\+"), "possessive repeats are not supported; leave out the second +"),
    (lazy_re.compile(r"repetition size"), "nothing can repeat more than 1000 times; write * or + instead"),
    (lazy_re.compile(r"too large"), "it is too large; repeat fewer times, or write * or + instead of {...}"),
)


class Pattern:
    """A compiled pattern. `size`: how many instructions it has; a search takes at most about that many steps a byte.

    Raises `ValueError` that says in one line what is wrong and what to write instead.
    """

    __slots__ = ("_search", "size")

    def __init__(self, text: str) -> None:
        import re2  # noqa: PLC0415 - only where somebody wrote a pattern: its library takes 10 ms to load

        try:
            compiled = re2.compile(_as_re2(text), _options())
        except re2.error as error:
            raise ValueError(_explained(error.args[0])) from None
        self._search, self.size = compiled.search, int(compiled.programsize)
        if self.size > MAX_SIZE:
            raise ValueError(_explained("too large"))

    def search(self, text: str) -> bool:
        """Whether the pattern is somewhere in the text."""
        return self._search(text.encode(errors="replace")) is not None


def _options() -> Any:
    import re2  # noqa: PLC0415 - see `Pattern`

    options = re2.Options()
    options.log_errors, options.never_capture, options.max_mem = False, True, _MAX_MEMORY
    return options


def _as_re2(text: str) -> bytes:
    return _ESCAPE.sub(lambda match: r"\z" if match[1] == "Z" else match[0], text).encode(errors="replace")


class PatternFilter:
    """Many patterns at once: one search for all texts that they cannot do without tells which may be somewhere in a text.
    The patterns must be valid."""

    def __init__(self, texts: Iterable[str]) -> None:
        import re2  # noqa: PLC0415 - see `Pattern`

        self._texts = tuple(dict.fromkeys(texts))
        self.all = frozenset(self._texts)
        self._filter, options = re2.Filter(), _options()
        for text in (*map(_as_re2, self._texts), _SIGN):
            self._filter.Add(text, options)
        self._filter.Compile()

    def possible(self, text: str) -> frozenset[str]:
        """Returns the patterns that may match somewhere in the text."""
        numbers = self._filter.Match(text.encode(errors="replace") + b"\n" + _SIGN, True) or ()  # noqa: FBT003 - its only form
        if len(self._texts) not in numbers:  # the search ran out of memory
            return self.all
        return frozenset(self._texts[at] for at in numbers if at < len(self._texts))


MANY = 16
"""Patterns from which on a search for each costs more than one for all."""


def filtered(texts: Iterable[str]) -> PatternFilter | None:
    """A filter, where it is worth it."""
    known = set(texts)
    return PatternFilter(sorted(known)) if len(known) >= MANY else None


_SIGN = b"the end of what is searched for many patterns"

MAX_COMPILED = 4_000


@lru_cache(maxsize=MAX_COMPILED)
def compiled(text: str) -> Pattern:
    """Raises as `Pattern`."""
    return Pattern(text)


def why_refused(text: str) -> str:
    """Why this cannot be a pattern; empty where it can."""
    try:
        compiled(text)
    except ValueError as error:
        return str(error)
    return ""


def _explained(error: bytes | str) -> str:
    message = error.decode(errors="replace") if isinstance(error, bytes) else str(error)
    advice = next((advice for sign, advice in _ADVICE if sign.search(message)), "")
    return advice or f"not a regular expression: {message}"
