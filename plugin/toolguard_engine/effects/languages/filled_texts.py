"""Finds the ends of texts into which values are filled, and the values in them: `"#{ENV["X"]}"`, `` `${f(`x`)}` ``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from toolguard_engine.effects.languages.script_syntax import Syntax

BRACKETS = {"{": "}", "[": "]", "(": ")"}
PAIRS = {**BRACKETS, "<": ">"}
"""What ends a text that begins with one of these signs; any other sign is its own end."""

NO_SIGN = "_,;)="
_FILLING = ("fills", "command")
_PATTERN = r"(?:(?<=[(,~])|(?<=[(,~]\s))/(?![/*])(?>(?:[^/\\\n]|\\.){1,200})/"


class Filled(NamedTuple):
    """One value in a text: where it stands, what begins it, and its code."""

    start: int
    end: int
    opening: str
    code: str
    begins: int = 0
    """Where its code stands."""


class _Part:
    """A text or a value that has begun here. Its end is `closing`; each `opening` in it needs one more."""

    def __init__(self, at: int, opening: str, closing: str, *, is_text: bool) -> None:
        self.at, self.opening, self.closing, self.is_text, self.depth = at, opening, closing, is_text, 0


class Ends:
    """The ends of the texts and values in a text, and in those again: each is looked for once, however deep it stands.
    What is cut out of the text, at `base`, shares them."""

    __slots__ = ("_base", "_table")

    def __init__(self, base: int = 0, table: dict[tuple[int, str, bool], int] | None = None) -> None:
        self._base, self._table = base, {} if table is None else table

    def behind(self, characters: int) -> Ends:
        return Ends(self._base + characters, self._table)

    def end(self, part: _Part, limit: int) -> int | None:
        """The position of its end, which is -1 if it has none; None if it was not looked for in this much of the text."""
        end = self._table.get((self._base + part.at, part.opening, part.is_text))
        if end is None or end < 0:
            return end
        return end - self._base if end - self._base < limit else None

    def put(self, part: _Part, end: int) -> None:
        self._table[self._base + part.at, part.opening, part.is_text] = end if end < 0 else self._base + end


@lru_cache(maxsize=256)
def _signs(syntax: Syntax, opening: str, closing: str, *, is_text: bool) -> re.Pattern[str]:
    """What has a meaning within a text or a value; the names of its groups say which."""
    ends = "".join(map(re.escape, dict.fromkeys((opening, closing))))
    escaped = rf"{re.escape(syntax.escape)}(?s:.)"
    if is_text:
        escaped += rf"|{re.escape(closing)}{{2}}" if syntax.doubles else ""
        return re.compile(rf"(?P<escape>{escaped})|(?P<filled>{syntax.filled})|(?P<sign>[{ends}])", re.MULTILINE)
    plain = [quote for quote, mode in syntax.modes.items() if mode not in _FILLING and quote in syntax.marks]
    filling = [quote for quote, mode in syntax.modes.items() if mode in _FILLING and quote in syntax.marks]
    groups = [rf"(?P<comment>(?<=\s)(?!#\{{)(?:{syntax.comment}))", rf"(?P<sign>[{ends}])"]
    groups += [rf"(?P<lettered>(?:{syntax.quotes})\s*+)"] if syntax.quotes else []
    groups += [rf"(?P<pattern>{_PATTERN})"] if syntax.patterns else []
    groups += (
        [rf"(?P<plain>{'|'.join(_plain(syntax, quote) for quote in plain)})|(?P<unended>[{''.join(plain)}])"]
        if plain
        else []
    )
    groups += [rf"(?P<text>[{''.join(filling)}])"] if filling else []
    return re.compile("|".join(groups), re.MULTILINE)


def _plain(syntax: Syntax, quote: str) -> str:
    """A text into which nothing is filled."""
    if syntax.doubles or syntax.modes[quote] == "plain":
        return rf"{quote}[^{quote}]*+{quote}"
    escape = re.escape(syntax.escape)
    return rf"{quote}(?>(?:[^{quote}{escape}]|{escape}(?s:.))*){quote}"


def text_end(syntax: Syntax, text: str, at: int, signs: tuple[str, str], ends: Ends) -> int:
    """The position of the sign that ends the text which begins here, behind the first of two signs; -1 if there is none."""
    return _end(syntax, text, _Part(at, *signs, is_text=True), ends)


def _end(syntax: Syntax, text: str, part: _Part, ends: Ends) -> int:
    known = ends.end(part, len(text))
    if known is None:
        parts = [part]
        known = _looked_for(syntax, text, parts, ends)
        for unended in parts:
            ends.put(unended, -1)
    return known


def _looked_for(syntax: Syntax, text: str, parts: list[_Part], ends: Ends) -> int:
    """The end of the only part; those that have none are left."""
    part = parts[0]
    at = part.at
    while (match := _signs(syntax, part.opening, part.closing, is_text=part.is_text).search(text, at)) is not None:
        at = match.end()
        kind, sign = match.lastgroup, match.group()
        if kind == "lettered":
            at = _past_lettered(text, at)
        if kind == "unended" or at < 0:
            return -1
        if (begun := _begun(kind, sign, at)) is not None:
            if (end := ends.end(begun, len(text))) == -1:
                return -1
            if end is None:
                parts.append(begun)
            else:
                at = end + 1
        elif kind == "sign" and sign == part.closing and not part.depth:
            ends.put(parts.pop(), match.start())
            if not parts:
                return match.start()
        elif kind == "sign":
            part.depth += -1 if sign == part.closing else 1
        part = parts[-1]
    return -1


def _begun(kind: str | None, sign: str, at: int) -> _Part | None:
    """The value or text that begins in front of this position."""
    if kind == "filled" and sign[-1] in BRACKETS:
        return _Part(at, sign[-1], BRACKETS[sign[-1]], is_text=False)
    return _Part(at, sign, sign, is_text=True) if kind == "text" else None


def _past_lettered(text: str, at: int) -> int:
    """Where `q(...)` ends, whose letters end here; -1 if it does not."""
    sign = text[at : at + 1]
    if not sign or sign.isalnum() or sign in NO_SIGN:
        return at
    return sign_end(text, at) + 1 or -1


def sign_end(text: str, at: int, sign: str = "") -> int:
    """The position of the sign that ends the text which begins here with a sign, or behind it; -1 if there is none."""
    sign = sign or text[at]
    close, depth, escaped = PAIRS.get(sign, sign), 0, False
    for position in range(at + 1, len(text)):
        char = text[position]
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == close and not depth:
            return position
        elif char == sign:
            depth += 1
        elif char == close:
            depth -= 1
    return -1


def values(syntax: Syntax, text: str, ends: Ends) -> Iterator[Filled]:
    """The values that are filled into a text, which is given without its quotes. One without an end has no code."""
    pattern, at = _values(syntax), 0
    while (match := pattern.search(text, at)) is not None:
        at, opening = match.end(), match.group()
        if match.lastgroup == "escape":
            continue
        code, begins = opening, match.start()
        if opening[-1] in BRACKETS:
            begins, end = at, _end(syntax, text, _Part(at, opening[-1], BRACKETS[opening[-1]], is_text=False), ends)
            code, at = (text[at:end], end + 1) if end >= 0 else ("", len(text))
            at += opening == "@{[" and text[at : at + 1] == "}"
        yield Filled(match.start(), at, opening, code, begins)


@lru_cache(maxsize=32)
def _values(syntax: Syntax) -> re.Pattern[str]:
    return re.compile(rf"(?P<escape>{re.escape(syntax.escape)}(?s:.))|(?P<filled>{syntax.filled})")
