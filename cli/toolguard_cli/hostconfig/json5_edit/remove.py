"""Takes an item out of a container, with its comma, its line and the comment behind it on that line.

Comments on lines of their own stay. A comment behind the item that is followed by another item on the same line stays
too: its owner is ambiguous. See `insert` for the shapes this undoes.
"""

from __future__ import annotations

from typing import TypeAlias

from toolguard_cli.hostconfig.json5_edit.style import left_edge
from toolguard_cli.hostconfig.json5_edit.text_spans import Container, Element, Member
from toolguard_cli.hostconfig.json5_edit.trivia import Piece, last_break, pieces, tail

Cut: TypeAlias = tuple[int, int]


def remove(text: str, container: Container, index: int) -> str:
    for start, end in sorted(_cuts(text, container, index), reverse=True):
        text = text[:start] + text[end:]
    return text


def _cuts(text: str, container: Container, index: int) -> list[Cut]:
    """What to take out, as spans that do not overlap."""
    item = container.items[index]
    before = pieces(text, left_edge(container, index), item.start)
    if len(container.items) == 1 and item.comma is None:
        behind = pieces(text, item.value.end, container.end - 1)
        if not any(piece.is_comment for piece in before + behind):
            return [(_blanks_kept(container.start + 1, before), container.end - 1)]
    if item.comma is not None and _comment_between(text, item.value.end, item.comma):
        return [(item.start, item.value.end), (item.comma, item.comma + 1)]
    cuts = [_line_cut(text, container, index, before)]
    if item.comma is None and index:
        cuts.append((left_edge(container, index) - 1, left_edge(container, index)))
    return cuts


def _line_cut(text: str, container: Container, index: int, before: list[Piece]) -> Cut:
    item = container.items[index]
    end = _end(item)
    followed = index + 1 < len(container.items)
    line = tail(text, end, container.items[index + 1].start if followed else container.end - 1)
    newline = last_break(before)
    if followed and not line.broken:
        blank = next((p.end for p in pieces(text, end, line.stop)[:1] if p.kind == "blank"), end)
        return (item.start, blank) if newline or not index else (_blank_start(item.start, before), end)
    stop = line.stop if line.broken else line.comment_end
    # The line break may end a `//` comment, and is then needed to keep a bracket behind the item out of it.
    if newline and (line.broken or not any(piece.kind == "line" for piece in before)):
        return newline.start, stop
    return _blank_start(item.start, before), stop


def _end(item: Member | Element) -> int:
    return item.value.end if item.comma is None else item.comma + 1


def _blanks_kept(start: int, before: list[Piece]) -> int:
    """The place behind the blanks of an opening line: `{ ` of a container that was empty, and was then spread over lines."""
    newline = last_break(before)
    first = before[0] if before else None
    return first.end if newline and first and first.kind == "blank" else start


def _comment_between(text: str, start: int, end: int) -> bool:
    """Whether a comment on a line of its own stands between a value and its comma."""
    between = pieces(text, start, end)
    first_break = next((at for at, piece in enumerate(between) if piece.kind == "newline"), len(between))
    return any(piece.is_comment for piece in between[first_break:])


def _blank_start(start: int, before: list[Piece]) -> int:
    """Where the blanks directly before an item start."""
    return before[-1].start if before and before[-1].kind == "blank" else start
