"""What lies between tokens, in pieces: blanks, line breaks and comments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolguard_cli.hostconfig.json5_edit.lexer import BLANKS, NEWLINES, comment_end

Kind: TypeAlias = Literal["blank", "newline", "line", "block"]

_BLANK = re.compile(f"[{BLANKS}]+")
_BREAK = re.compile(f"\r\n|[{NEWLINES}]")
_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Piece:
    """`line` is a `//` comment without its line break; `block` is a `/* */` comment."""

    kind: Kind
    start: int
    end: int

    @property
    def is_comment(self) -> bool:
        return self.kind in {"line", "block"}


@dataclass(frozen=True, slots=True)
class Tail:
    """What follows a token on its own line, up to `stop`: a line break, or the next token if `broken` is false.

    `comment_end` is behind the last comment, or where the tail starts if there is none. A comment over several lines
    belongs to the line it starts on.
    """

    comment_end: int
    stop: int
    broken: bool


def pieces(text: str, start: int, end: int) -> list[Piece]:
    """The trivia of `text[start:end]`, which holds nothing else."""
    parts: list[Piece] = []
    at = start
    while at < end:
        piece = _piece(text, at)
        parts.append(piece)
        at = piece.end
    return parts


def tail(text: str, start: int, end: int) -> Tail:
    """The tail of the token that ends at `start`; `end` is where the next token starts."""
    last = start
    for piece in pieces(text, start, end):
        if piece.kind == "newline":
            return Tail(last, piece.start, broken=True)
        if piece.is_comment:
            last = piece.end
    return Tail(last, end, broken=False)


def last_break(before: list[Piece]) -> Piece | None:
    """The line break that starts the line of the token behind `before`, if nothing but blanks is between them."""
    for piece in reversed(before):
        if piece.kind == "newline":
            return piece
        if piece.is_comment:
            return None
    return None


def has_break(text: str, start: int, end: int) -> bool:
    return _BREAK.search(text, start, end) is not None


def line_indent(text: str, at: int) -> str:
    """The spaces and tabs that start the line of offset `at`."""
    start = max(text.rfind(char, 0, at) for char in NEWLINES) + 1
    match = _INDENT.match(text, start, at)
    return match[0] if match else ""


def _piece(text: str, at: int) -> Piece:
    blank = _BLANK.match(text, at)
    if blank:
        return Piece("blank", at, blank.end())
    newline = _BREAK.match(text, at)
    if newline:
        return Piece("newline", at, newline.end())
    return Piece("line" if text[at + 1] == "/" else "block", at, comment_end(text, at))
