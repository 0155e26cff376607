"""What is moved: an item's value as it was written, and the comments that are its own.

| comment                                                          | goes to  |
| on lines of its own directly above the item, no blank line between | `above`  |
| before the key on the item's line, nothing else before it        | `above`  |
| between the key and its colon                                    | `above`  |
| between the colon and the value                                  | `source` |
| behind the value, up to the comma and the end of the line        | `behind` |
| before or behind an item that shares its line with the one there | stays    |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TypeAlias

from toolguard_cli.hostconfig.json5_edit.lexer import skip_trivia
from toolguard_cli.hostconfig.json5_edit.style import Style, left_edge
from toolguard_cli.hostconfig.json5_edit.text_spans import Container, Element, JsonValue, Member
from toolguard_cli.hostconfig.json5_edit.trivia import Piece, line_indent, pieces, tail

Span: TypeAlias = tuple[int, int]

_BREAK = re.compile(r"(?P<newline>\r\n|[\n\r])(?P<indent>[ \t]*)")
# Line breaks, and what must not be confused with them: those in strings are content, those in comments are not.
_PARTS = re.compile(
    r"""(?P<kept>"(?>(?:[^"\\]|\\(?s:.))*)"|'(?>(?:[^'\\]|\\(?s:.))*)'|//[^\n\r\u2028\u2029]*+)"""
    r"|(?P<block>/\*(?s:.*?)\*/)"
    r"|(?P<newline>\r\n|[\n\r])(?P<indent>[ \t]*)"
)


@dataclass(frozen=True, slots=True)
class Clip:
    """`source` is the text of the value; `above` holds lines of comments without their indentation.

    `before` is the text from the first comment behind the colon to the value, mostly empty. `indent` is the indentation
    of the line that the item started on, `unit` one step of it.
    """

    value: JsonValue
    source: str
    above: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    before: str = ""
    indent: str = ""
    unit: str = "  "

    @property
    def ends_line(self) -> bool:
        """Whether nothing may follow on the item's line."""
        return any(comment.startswith("//") for comment in self.behind)

    @property
    def needs_lines(self) -> bool:
        """Whether its comments need lines of their own, or a line break behind them."""
        return bool(self.above) or self.ends_line

    def before_bracket(self) -> Clip:
        """The same for a line that goes on behind the item."""
        if not self.ends_line:
            return self
        return replace(self, above=(*self.above, *self.behind), behind=())

    def without_key(self) -> Clip:
        """The same for an array, where there is no colon that a comment could stand behind."""
        comments = [self.before[piece.start : piece.end] for piece in pieces(self.before, 0, len(self.before))]
        return replace(self, above=(*self.above, *filter(None, map(str.strip, comments))), before="")

    def text(self, style: Style, indent: str) -> str:
        """The value, and the comment before it, for a line indented by `indent`; no character within strings changes."""
        return _relaid(self.before + self.source, self, style, indent)

    def lines_above(self, style: Style, indent: str) -> list[str]:
        return [_relaid(line, self, style, indent) for line in self.above]

    def text_behind(self, style: Style, indent: str) -> str:
        return "".join(" " + _relaid(comment, self, style, indent) for comment in self.behind)


@dataclass(frozen=True, slots=True)
class Owned:
    """The comments of an item, and the spans that take them, and nothing else, out of the text."""

    above: tuple[str, ...]
    behind: tuple[str, ...]
    spans: tuple[Span, ...]


def clip_of(text: str, container: Container, index: int, value: JsonValue, unit: str, owned: Owned) -> Clip:
    item = container.items[index]
    end = start = item.value.start
    if isinstance(item, Member):
        start = next((piece.start for piece in _behind_colon(text, item) if piece.is_comment), end)
    indent = line_indent(text, item.start)
    return Clip(value, text[end : item.value.end], owned.above, owned.behind, text[start:end], indent, unit)


def owned_comments(text: str, container: Container, index: int) -> Owned:
    item = container.items[index]
    above, above_spans = _above(text, pieces(text, left_edge(container, index), item.start), item)
    behind, behind_spans = _behind(text, container, index)
    while any(comment.startswith("//") for comment in behind[:-1]):
        above.append(behind.pop(0))
    return Owned(tuple(above), tuple(behind), (*above_spans, *behind_spans))


def _above(text: str, before: list[Piece], item: Member | Element) -> tuple[list[str], list[Span]]:
    rows = _rows(before)
    in_key = [text[piece.start : piece.end] for piece in _before_colon(text, item) if piece.is_comment]
    if len(rows) == 1:
        return in_key, []
    first = len(rows) - 1
    while first > 1 and _has_comment(rows[first - 1]):
        first -= 1
    lines = [_stripped(text, row) for row in rows[first:] if _has_comment(row)]
    breaks = [piece for piece in before if piece.kind == "newline"]
    spans = [(breaks[first - 1].start, breaks[-1].start)] if first < len(rows) - 1 else []
    if _has_comment(rows[-1]):
        spans.append((next(piece.start for piece in rows[-1] if piece.is_comment), item.start))
    return lines + in_key, spans


def _behind(text: str, container: Container, index: int) -> tuple[list[str], list[Span]]:
    item = container.items[index]
    inner = [] if item.comma is None else pieces(text, item.value.end, item.comma)
    end = item.value.end if item.comma is None else item.comma + 1
    followed = index + 1 < len(container.items)
    line = tail(text, end, container.items[index + 1].start if followed else container.end - 1)
    outer = pieces(text, end, line.comment_end) if line.broken or not followed else []
    comments = [text[piece.start : piece.end] for piece in inner + outer if piece.is_comment]
    spans = [(row[0].start, row[-1].end) for row in (inner, outer) if _has_comment(row)]
    return comments, spans


def _behind_colon(text: str, item: Member) -> list[Piece]:
    return pieces(text, _colon(text, item) + 1, item.value.start)


def _before_colon(text: str, item: Member | Element) -> list[Piece]:
    return pieces(text, item.key_end, _colon(text, item)) if isinstance(item, Member) else []


def _colon(text: str, item: Member) -> int:
    return skip_trivia(text, item.key_end)


def _rows(group: list[Piece]) -> list[list[Piece]]:
    """The pieces of each line, without the line breaks."""
    rows: list[list[Piece]] = [[]]
    for piece in group:
        if piece.kind == "newline":
            rows.append([])
        else:
            rows[-1].append(piece)
    return rows


def _has_comment(row: list[Piece]) -> bool:
    return any(piece.is_comment for piece in row)


def _stripped(text: str, row: list[Piece]) -> str:
    comments = [piece for piece in row if piece.is_comment]
    return text[comments[0].start : comments[-1].end]


def _relaid(source: str, origin: Clip, style: Style, indent: str) -> str:
    def line_start(match: re.Match[str], unit: str) -> str:
        old = match["indent"]
        if not old.startswith(origin.indent):
            return style.newline + old
        return style.newline + indent + _in_units(old[len(origin.indent) :], origin.unit, unit)

    def part(match: re.Match[str]) -> str:
        if match["kept"] is not None:
            return match[0]
        if match["block"] is not None:  # what is aligned in a comment stays aligned
            return _BREAK.sub(lambda inner: line_start(inner, origin.unit), match[0])
        return line_start(match, style.unit)

    return _PARTS.sub(part, source)


def _in_units(blanks: str, old: str, new: str) -> str:
    """Indentation with each step of `old` at its start made one of `new`."""
    steps = 0
    while old and blanks.startswith(old):
        blanks, steps = blanks[len(old) :], steps + 1
    return new * steps + blanks
