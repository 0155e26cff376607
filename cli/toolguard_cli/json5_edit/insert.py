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

from toolguard_cli.json5_edit.render import Layout, gap, padding, render, render_key
from toolguard_cli.json5_edit.spans import ArrayNode, Container, JsonValue, ObjectNode
from toolguard_cli.json5_edit.style import Style, among, item_indent, left_edge
from toolguard_cli.json5_edit.trivia import has_break, last_break, line_indent, pieces, tail


@dataclass(frozen=True, slots=True)
class NewItem:
    """`key` is None for an element of an array."""

    key: str | None
    value: JsonValue

    def text(self, style: Style, indent: str, layout: Layout) -> str:
        value = render(self.value, style, indent, layout)
        return value if self.key is None else render_key(self.key, style) + style.colon + value


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
        return text[:newline] + style.newline + indent + item.text(style, indent, "auto") + "," + text[newline:]
    return _into_blank(text, container, item, style, crowded=crowded)


def _behind_last(text: str, container: Container, item: NewItem, style: Style) -> str:
    last = container.items[-1]
    value_end, comma = last.value.end, last.comma
    line = tail(text, value_end if comma is None else comma + 1, container.end - 1)
    before = pieces(text, left_edge(container, len(container.items) - 1), last.start)
    at = line.stop if line.broken else line.comment_end
    if line.broken or last_break(before):
        indent = item_indent(text, container, style)
        added = style.newline + indent + item.text(style, indent, "auto")
    else:
        indent = line_indent(text, last.start)
        added = _separator(text, container, style) + item.text(style, indent, "inline")
    if comma is None:
        return text[:value_end] + "," + text[value_end:at] + added + text[at:]
    return text[:at] + added + "," + text[at:]


def _behind_comment(text: str, container: Container, item: NewItem, style: Style, comment_end: int) -> str:
    line = tail(text, comment_end, container.end - 1)
    if line.broken:
        indent = item_indent(text, container, style)
        added = style.newline + indent + item.text(style, indent, "auto")
        return text[: line.stop] + added + text[line.stop :]
    added = " " + item.text(style, line_indent(text, container.start), "inline")
    return text[:comment_end] + added + text[comment_end:]


def _into_blank(text: str, container: Container, item: NewItem, style: Style, *, crowded: bool) -> str:
    start, end = container.start + 1, container.end - 1
    outer = line_indent(text, container.start)
    if style.multiline and not crowded:
        indent = outer + style.unit
        shown = item.text(style, indent, "auto")
        if isinstance(container, ObjectNode) or has_break(shown, 0, len(shown)):
            return text[:end] + style.newline + indent + shown + style.newline + outer + text[end:]
    shown = item.text(style, outer, "inline")
    if start == end:
        pad = "" if isinstance(container, ArrayNode) else padding(style)
        return text[:start] + pad + shown + pad + text[end:]
    return text[:start] + " " + shown + "," + text[start:]


def _separator(text: str, container: Container, style: Style) -> str:
    """The blanks before the last item if it has a neighbour in its line, or what the style has behind commas."""
    if len(container.items) > 1:
        before = text[left_edge(container, len(container.items) - 1) : container.items[-1].start]
        if not before.strip(" \t"):
            return before
    return gap(style)
