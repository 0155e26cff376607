"""Puts a new item behind the last one of a container.

Each form leaves a shape that `remove` can undo exactly, so that the two are inverse:

| container                    | afterwards                                             |
| has items                    | the new item has a trailing comma if the last had one  |
| holds only comments          | the new item stands behind the last comment            |
| empty, `{}` or `{ }`         | `{` blanks, line break, item, line break `}`, no comma |
| empty, in a line: `{}`       | `{ item }`, no comma                                   |
| empty, in a line: `{ }`      | `{ item, }`: the comma says that the blank was there   |
| empty, with line breaks      | `{`, line break, item and comma, the line breaks, `}`  |
"""

from __future__ import annotations

from dataclasses import dataclass

from toolguard_cli.hostconfig.json5_edit.clips import Clip
from toolguard_cli.hostconfig.json5_edit.render import Layout, gap, padding, render, render_key
from toolguard_cli.hostconfig.json5_edit.style import Style, among, item_indent, left_edge
from toolguard_cli.hostconfig.json5_edit.text_spans import ArrayNode, Container, JsonValue, ObjectNode
from toolguard_cli.hostconfig.json5_edit.trivia import has_break, last_break, line_indent, pieces, tail


@dataclass(frozen=True, slots=True)
class Nest:
    """A Clip within new containers: `step` is its key or, in an array, 0."""

    step: str | int
    inner: Nest | Clip

    @property
    def item(self) -> NewItem:
        return NewItem(self.step, self.inner) if isinstance(self.step, str) else NewItem.element(self.inner)

    @property
    def needs_lines(self) -> bool:
        return self.inner.needs_lines if isinstance(self.inner, Nest) else self.item.needs_lines

    def text(self, style: Style, indent: str, layout: Layout) -> str:
        opening, closing = "{}" if isinstance(self.step, str) else "[]"
        if not self.needs_lines and (layout == "inline" or not style.multiline):
            pad = padding(style) if isinstance(self.step, str) else ""
            shown = self.item.text(style, indent, "inline") + self.item.behind(style, indent)
            return opening + pad + shown + pad + closing
        inner = indent + style.unit
        comma = "," if style.trailing_comma else ""
        shown = self.item.lines(style, inner) + comma + self.item.behind(style, inner)
        return opening + shown + style.newline + indent + closing


@dataclass(frozen=True, slots=True)
class NewItem:
    """`key` is None for an element of an array; a Clip brings its own text and its comments."""

    key: str | None
    value: JsonValue | Clip | Nest

    @classmethod
    def element(cls, value: JsonValue | Clip | Nest) -> NewItem:
        return cls(None, value.without_key() if isinstance(value, Clip) else value)

    @property
    def needs_lines(self) -> bool:
        """Whether its comments need lines of their own, or a line break behind them."""
        return isinstance(self.value, Clip) and self.value.needs_lines

    def text(self, style: Style, indent: str, layout: Layout) -> str:
        value = self.value
        if isinstance(value, Clip):
            shown = value.text(style, indent)
        elif isinstance(value, Nest):
            shown = value.text(style, indent, layout)
        else:
            shown = render(value, style, indent, layout)
        return shown if self.key is None else render_key(self.key, style) + style.colon + shown

    def lines(self, style: Style, indent: str) -> str:
        """The text from a line break on: the comments above the item, and the item."""
        above = self.value.lines_above(style, indent) if isinstance(self.value, Clip) else []
        return "".join(style.newline + indent + line for line in [*above, self.text(style, indent, "auto")])

    def behind(self, style: Style, indent: str) -> str:
        return self.value.text_behind(style, indent) if isinstance(self.value, Clip) else ""

    def before_bracket(self) -> NewItem:
        """The same without a comment behind it that would swallow a bracket on its line."""
        return NewItem(self.key, self.value.before_bracket()) if isinstance(self.value, Clip) else self


def insert(text: str, container: Container, item: NewItem, style: Style, *, crowded: bool) -> str:
    """`text` with `item` as the last of `container`; `crowded` if the container is within a single line of others."""
    style = among(style, container.items)
    if container.items:
        return _behind_last(text, container, item, style)
    inner = pieces(text, container.start + 1, container.end - 1)
    comments = [piece.end for piece in inner if piece.is_comment]
    if comments:
        return _behind_comment(text, container, item, style, comments[-1])
    newline = next((piece.start for piece in inner if piece.kind == "newline"), None)
    if newline is not None:
        indent = item_indent(text, container, style)
        return text[:newline] + item.lines(style, indent) + "," + item.behind(style, indent) + text[newline:]
    return _into_blank(text, container, item, style, crowded=crowded)


def _behind_last(text: str, container: Container, item: NewItem, style: Style) -> str:
    last = container.items[-1]
    value_end, comma = last.value.end, last.comma
    line = tail(text, value_end if comma is None else comma + 1, container.end - 1)
    before = pieces(text, left_edge(container, len(container.items) - 1), last.start)
    at = line.stop if line.broken else line.comment_end
    item = item if line.broken else item.before_bracket()
    if line.broken or item.needs_lines or last_break(before):
        indent = item_indent(text, container, style)
        added = item.lines(style, indent)
    else:
        indent = line_indent(text, last.start)
        added = _separator(text, container, style) + item.text(style, indent, "inline")
    behind = item.behind(style, indent)
    if comma is None:
        return text[:value_end] + "," + text[value_end:at] + added + behind + text[at:]
    return text[:at] + added + "," + behind + text[at:]


def _behind_comment(text: str, container: Container, item: NewItem, style: Style, comment_end: int) -> str:
    line = tail(text, comment_end, container.end - 1)
    at = line.stop if line.broken else comment_end
    item = item if line.broken else item.before_bracket()
    if line.broken or item.needs_lines:
        indent = item_indent(text, container, style)
        added = item.lines(style, indent)
    else:
        indent = line_indent(text, container.start)
        added = " " + item.text(style, indent, "inline")
    return text[:at] + added + item.behind(style, indent) + text[at:]


def _into_blank(text: str, container: Container, item: NewItem, style: Style, *, crowded: bool) -> str:
    start, end = container.start + 1, container.end - 1
    outer = line_indent(text, container.start)
    indent = outer + style.unit
    spread = style.multiline and not crowded
    shown = item.text(style, indent, "auto")
    if item.needs_lines or (spread and (isinstance(container, ObjectNode) or has_break(shown, 0, len(shown)))):
        return text[:end] + item.lines(style, indent) + item.behind(style, indent) + style.newline + outer + text[end:]
    shown = item.text(style, outer, "inline")
    behind = item.behind(style, outer)
    if start == end:
        pad = "" if isinstance(container, ArrayNode) else padding(style)
        return text[:start] + pad + shown + behind + pad + text[end:]
    return text[:start] + " " + shown + "," + behind + text[start:]


def _separator(text: str, container: Container, style: Style) -> str:
    """The blanks before the last item if it has a neighbour in its line, or what the style has behind commas."""
    if len(container.items) > 1:
        before = text[left_edge(container, len(container.items) - 1) : container.items[-1].start]
        if not before.strip(" \t"):
            return before
    return gap(style)
