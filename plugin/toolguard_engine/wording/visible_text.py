"""Texts in which everything can be seen: what nobody would see, or what hides other signs, stands there as `<U+2800>`.

A sign is shown as it is if Unicode says that it has a shape: letters, digits, punctuation, symbols, and marks on a letter of
a script that uses them. All else is written out: control and format characters, blanks other than the space, line ends, what
is unassigned, private or half a pair, what may be ignored by a renderer (`Default_Ignorable_Code_Point`), and marks that
cover a letter or float on nothing. Exceptions are those that ordinary writing needs, where it needs them: see
`model.odd_signs`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

from toolguard_engine import lazy_re
from toolguard_engine.model.odd_signs import NEEDED

MAX_MARKS = 8
"""Marks on one letter of their own script (Tibetan stacks)."""
MAX_ACCENTS = 3
"""Marks on one letter that many scripts share (Vietnamese has two)."""
MAX_CACHED = 4_096
MAX_SAME = 3
"""More of the same sign are counted."""
MAX_SPACES = 40
"""More spaces in a row are counted, because they push what follows out of sight."""

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_IGNORABLE = lazy_re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]")
"""Of `Default_Ignorable_Code_Point` (DerivedCoreProperties.txt of Unicode 16), what its category does not hide already."""
_BLANK = lazy_re.compile("[\u2800\ufffc\U00016fe4\U0001d159\U00013441\U00013442]")
"""Signs of visible categories that the code charts show without ink: the empty Braille pattern, the place of an object, the
Khitan filler, the null notehead, the Egyptian blanks."""
_KEYCAP = lazy_re.compile("(?<=[0-9#*]\ufe0f)\u20e3")

_LOOK = lazy_re.compile(
    r"[^\x20-\x7e\u00a1-\u00ac\u00ae-\u02c1\u0400-\u0481\u0531-\u0556\u05d0-\u05ea\u0620-\u063f\u0641-\u064a"
    r"\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2500-\u25ff\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fef\uac00-\ud7a3]+"
)
"""All that has to be looked at; the rest is letters and symbols with a shape, for speed."""
_LINE_ENDS = lazy_re.compile(r"[\t\n\r]")
WRITTEN_OUT = lazy_re.compile(r"<U\+(10[0-9A-F]{4}|[0-9A-F]{4,5})(?: x([0-9]{1,4}))?>")
"""What `visible` writes for a sign, and how often. A text may also have had it in it."""
_SPACES = lazy_re.compile(f" {{{MAX_SPACES + 1},}}")


def visible(text: str) -> str:
    """`text`, on one line, with nothing in it that cannot be seen. What is visible already stays as it is."""
    return replaced(text, _written_out)


def visible_cut(text: str, limit: int, length: int = 0) -> str:
    """The same in about `limit` characters, and a note of the length (`length`, or that of `text`) if it is longer."""
    shown = visible(text[: limit + 1])
    is_whole = len(text) <= limit and len(shown) <= limit
    return shown if is_whole else f"{shown[:limit]}... ({length or len(text)} characters)"


def one_line(text: str) -> str:
    """`text` with a space for each line end and tab, where these mean nothing."""
    return _LINE_ENDS.sub(" ", text)


def is_visible(text: str) -> bool:
    return visible(text) == text


def counted_spaces(text: str) -> str:
    """`text` with long runs of spaces counted, which push out of sight what follows them."""
    if " " * (MAX_SPACES + 1) not in text:
        return text
    return _SPACES.sub(lambda run: f" <U+0020 x{len(run[0]) - 2}> ", text)


def replaced(text: str, form: Callable[[str, int], str]) -> str:
    """`text` with `form` of each sign that cannot be seen, and how often it stands there in a row."""
    if text.isascii() and text.isprintable():
        return text
    kept = _needed(text)
    return _LOOK.sub(lambda run: _shown(text, run.span(), kept, form), text)


def _written_out(sign: str, count: int) -> str:
    name = f"U+{ord(sign):04X}"
    return f"<{name} x{count}>" if count > MAX_SAME else f"<{name}>" * count


def _needed(text: str) -> frozenset[int]:
    """The places of the signs that ordinary writing needs there."""
    spans = (match.span() for pattern in (NEEDED, _KEYCAP) for match in pattern.finditer(text))
    return frozenset(place for start, end in spans for place in range(start, end))


def _shown(text: str, span: tuple[int, int], kept: frozenset[int], form: Callable[[str, int], str]) -> str:
    shown: list[str] = []
    at, end = span
    while at < end:
        sign = text[at]
        if at in kept or not (_is_hidden(sign) or (_is_mark(sign) and not _fits(text, at))):
            shown.append(sign)
            at += 1
            continue
        behind = at + 1
        while behind < end and text[behind] == sign and behind not in kept:
            behind += 1
        shown.append(form(sign, behind - at))
        at = behind
    return "".join(shown)


@lru_cache(MAX_CACHED)
def _is_hidden(sign: str) -> bool:
    return bool(unicodedata.category(sign) in _HIDDEN_CATEGORIES or _IGNORABLE.match(sign) or _BLANK.match(sign))


def _is_mark(sign: str) -> bool:
    return unicodedata.category(sign) in ("Mn", "Me")


def _fits(text: str, at: int) -> bool:
    """Whether the mark here stands on a letter of a script that uses it, and is not one too many."""
    base = at - 1
    while base >= 0 and at - base <= MAX_MARKS + 1 and (unicodedata.category(text[base]) in ("Mn", "Me", "Mc", "Cf")):
        base -= 1
    if base < 0 or at - base > MAX_MARKS or not unicodedata.category(text[base]).startswith("L"):
        return False
    script = _words(text[base])[0]
    if script != "LATIN" and not {script, "VEDIC"}.isdisjoint(_words(text[at])):
        return True
    return at - base <= MAX_ACCENTS and (text[at], script) in _accents()


@lru_cache(MAX_CACHED)
def _words(sign: str) -> list[str]:
    """The words of its name. The first of a letter is its script, and a mark of one script names it."""
    return re.split("[ -]", unicodedata.name(sign, "?"))


@cache
def _accents() -> frozenset[tuple[str, str]]:
    """Marks that are part of a letter that Unicode also has as one sign, each with the scripts of such letters."""
    accents = set()
    for code in range(0xC0, 0x2000):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.category(chr(code)).startswith("L"):  # noqa: PLR2004
            accents.add((chr(int(parts[1], 16)), _words(chr(code))[0]))
    return frozenset(accents)
