"""Globs over texts that a model wrote. `*` is the only wildcard; everything else in a pattern stands for itself.

A pattern matches a whole text, and what a `*` stands for can never become more than the value it stands in.

- `words` (a shell command): a `*` that is a word of its own stands for one or more words, a `*` inside a word for a part
  of that word. Both stand for ASCII letters, digits and `_./:@%+,-` only: no quote, no blank inside a word, nothing that a
  shell reads in its own way. What a `*` begins must begin with a letter, a digit or one of `_./`, so it is never an
  option (`-f`), a forced or deleting refspec (`+main`, `:main`), or a file of arguments (`@file`). Behind a `/` of the
  pattern, or of what it stands for, a `*` inside a word finds no name that begins with a dot, as in a shell.
- `path`: `*` stays inside one part, `**` crosses `/`; neither begins a part with a dot.
- `url`: as a path behind the host; in the host `*` is one label, `**` several. Without a `/` behind the host a pattern
  has no wildcard: `https://example.com*` would cover `https://example.com.evil.test`.
- `address` (words of a message's address): `*` is one word or a part of it.
- `json` (canonical JSON): no `*` stands for a quote or a backslash, so it adds no member and ends no text; a pattern of
  nothing but `*` stands for everything.

A text with a part `..` matches nothing in `path` and `url`, and in `words` only where the pattern has it. Matching takes
time in proportion to the text: all wildcards but the last take the first place that fits and never try another one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from toolguard_engine import lazy_re
from toolguard_engine.wording.redact import UNPRINTABLE
from toolguard_engine.wording.visible_text import is_visible

Kind = Literal["words", "path", "url", "address", "json"]

MAX_TEXT = 16_000
MAX_STARS = 40

_BEGIN = r"[A-Za-z0-9_./]"
_WORD = rf"{_BEGIN}[A-Za-z0-9_./:@%+,-]*+"
_WORDS = rf"{_WORD}(?:[ \t]++{_WORD})*?"
_ADDRESS = r"[A-Za-z0-9_./:@%+,#-]+?"
_INSIDE = r"(?:[A-Za-z0-9_/:@%+,-]|(?<!/)\.)*?"
_PART = r"(?:[^/.\\]|(?<=[^/])\.)*?"
_PARTS = r"(?:[^.\\]|(?<=[^/])\.)*?"
_URL_PART = r"(?:[^/.\\?\#\s]|(?<=[^/])\.)*?"
_URL_PARTS = r"(?:[^.\\\s]|(?<=[^/])\.)*?"
_LABEL, _LABELS = r"[A-Za-z0-9-]+?", r"[A-Za-z0-9.-]+?"
_ANY_URL = r"https?://[A-Za-z0-9.-]+(?::\d+)?(?:/" + _URL_PARTS + r")?"
_EVERYTHING: dict[Kind, str] = {"url": _ANY_URL, "address": " ".join([_ADDRESS] * 3), "json": "(?s:.*)"}
"""What a pattern of nothing but `*` stands for, where that is more than one piece."""

_STARS = lazy_re.compile(r"(\*+)")
_URL = lazy_re.compile(r"([a-z][a-z0-9+.-]*://[^/?#]+)(/.*)", re.DOTALL)
_INSIDE_WORD = lazy_re.compile(r"[A-Za-z0-9_./:@%+,=-]\Z")
_UP = lazy_re.compile(r"(?<![^\s/=:,@'\"(])\.\.(?![^\s/:,;'\")])")
_HIDDEN_IN_URL = lazy_re.compile(r"%(?:2e|2f|5c)", re.IGNORECASE)
_NEVER = lazy_re.compile(r"(?!)")


def matches(kind: Kind, pattern: str, text: str) -> bool:
    """Whether the whole of `text` is covered."""
    if len(text) > MAX_TEXT or _climbs(kind, pattern, text):
        return False
    if "*" not in pattern:
        return text == pattern
    if UNPRINTABLE.search(text) or not is_visible(text):
        return False
    return compiled(kind, pattern).fullmatch(text) is not None


def only_stars(pattern: str) -> bool:
    """Whether nothing in this pattern limits anything."""
    return "*" in pattern and not pattern.strip("* \t/")


def _climbs(kind: Kind, pattern: str, text: str) -> bool:
    """Whether the text leaves a folder by `..` where the pattern does not say so."""
    ups = len(_UP.findall(text))
    if kind == "words":
        return ups > len(_UP.findall(pattern))
    if kind == "url" and _HIDDEN_IN_URL.search(text):
        return True
    return kind in ("path", "url") and (ups > 0 or ".." in text.replace("\\", "/").split("/"))


@lru_cache(maxsize=2_000)
def compiled(kind: Kind, pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression to be matched in full."""
    if pattern.count("*") > MAX_STARS:
        return _NEVER
    if not pattern.strip("*") and kind in _EVERYTHING:
        return re.compile(_EVERYTHING[kind])
    if kind == "url":
        return _url(pattern)
    return re.compile(_joined(kind, pattern))


def _url(pattern: str) -> re.Pattern[str]:
    split = _URL.fullmatch(pattern)
    if split is None:
        return _NEVER
    host = "".join(_host_piece(piece) for piece in _STARS.split(split[1]))
    return re.compile(f"(?>{host}(?=/)){_joined('url', split[2])}")


def _host_piece(piece: str) -> str:
    if not piece.startswith("*"):
        return re.escape(piece)
    return _LABEL if piece == "*" else _LABELS


def _joined(kind: Kind, pattern: str) -> str:
    """Each wildcard with the fixed text behind it; all but the last are atomic."""
    pieces = _STARS.split(pattern)
    text = re.escape(pieces[0])
    for at in range(1, len(pieces), 2):
        before, stars, behind = pieces[at - 1 : at + 2]
        step = _wildcard(kind, stars, before, behind) + re.escape(behind)
        text += step if at + 2 == len(pieces) else f"(?>{step})"
    return text


def _wildcard(kind: Kind, stars: str, before: str, behind: str) -> str:
    match kind:
        case "words":
            return _in_command(before, behind)
        case "address":
            return _ADDRESS
        case "json":
            return r"[^\"\\]*?"
        case "url":
            return _URL_PART if stars == "*" else _URL_PARTS
        case "path":
            return _PART if stars == "*" else _PARTS


def _in_command(before: str, behind: str) -> str:
    """A word begins behind anything but a harmless character (a blank, a quote) for the program that gets it."""
    if _INSIDE_WORD.search(before):
        return _INSIDE
    if (not before or before[-1] in " \t") and (not behind or behind[0] in " \t"):
        return _WORDS
    return f"(?:{_BEGIN}{_INSIDE})?"
