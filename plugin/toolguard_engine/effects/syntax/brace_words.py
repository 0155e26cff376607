"""Expands braces to the words that they make of one: `a{b,c}`, `{1..9}`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.syntax.syntax_tree import Literal, Part

MAX_BRACES = 64
MAX_NUMBERS = 8
"""In a range like `{1..1000}` the first and last numbers represent the others."""
MAX_TEMPLATE = 2_000

_PRIVATE = 0xE000
_SIGNS = lazy_re.compile("[\ue000-\uffff]")
_OPEN, _CLOSE = "\uf8fe", "\uf8ff"
_INNERMOST = lazy_re.compile(r"\{([^{}]*+)\}")
_RANGE = lazy_re.compile(r"(-?\d{1,4}|[A-Za-z])\.\.(-?\d{1,4}|[A-Za-z])(?:\.\.-?\d{1,4})?")


def words_of(parts: tuple[Part, ...]) -> Iterable[Iterable[Part] | str]:
    """The words that brace expansion makes of one word; as a text if nothing else is to be expanded in them."""
    if not any(isinstance(part, Literal) and not part.quoted and "{" in part.text for part in parts):
        return [parts]
    template = "".join(
        part.text if isinstance(part, Literal) and not part.quoted else chr(_PRIVATE + at)
        for at, part in enumerate(parts[:MAX_TEMPLATE])
    )
    if len(template) > MAX_TEMPLATE or template.count("{") > MAX_BRACES:
        return [[Literal(UNKNOWN)]] * (MAX_BRACES + 1)
    return [text if text.isascii() else _parts(text, parts) for text in islice(_expanded(template), MAX_BRACES + 1)]


def _expanded(template: str) -> Iterable[str]:
    waiting, done = [template], 0
    while waiting and done <= MAX_BRACES:
        text = waiting.pop(0)
        match = _INNERMOST.search(text)
        if match is None:
            done += 1
            yield text.replace(_OPEN, "{").replace(_CLOSE, "}")
            continue
        choices = _choices(match[1])
        before, after = text[: match.start()], text[match.end() :]
        if choices is None:
            waiting.insert(0, f"{before}{_OPEN}{match[1]}{_CLOSE}{after}")
        else:
            waiting[:0] = [before + choice + after for choice in choices[: max(1, MAX_BRACES + 2 - len(waiting))]]


def _choices(inside: str) -> list[str] | None:
    if "," in inside:
        return inside.split(",")
    match = _RANGE.fullmatch(inside)
    if not match:
        return None
    if match[1].isalpha() or match[2].isalpha():
        first, last = ord(match[1][0]), ord(match[2][0])
        return (
            [chr(code) for code in range(first, last + 1)] if first <= last else [chr(c) for c in range(first, last - 1, -1)]
        )
    first, last = int(match[1]), int(match[2])
    step = 1 if first <= last else -1
    if abs(last - first) < MAX_NUMBERS:
        return [str(number) for number in range(first, last + step, step)]
    kept = MAX_NUMBERS // 2
    return [str(first + step * n) for n in range(kept)] + [str(last - step * n) for n in reversed(range(kept))]


def _parts(text: str, parts: tuple[Part, ...]) -> Iterable[Part]:
    """The parts of one word that brace expansion made: `chr(_PRIVATE + at)` stands for the part at that position."""
    begin = 0
    for sign in _SIGNS.finditer(text):
        at = ord(sign[0]) - _PRIVATE
        if at < len(parts):
            if begin < sign.start():
                yield Literal(text[begin : sign.start()])
            begin = sign.end()
            yield parts[at]
    if begin < len(text) or not text:
        yield Literal(text[begin:])
