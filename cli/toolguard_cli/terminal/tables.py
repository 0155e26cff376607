"""Tables of plain text that lose nothing: cells wrap to the terminal's width, and are complete lines in a pipe or file."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from toolguard_cli.terminal.result import MARK, Line
from toolguard_engine.wording import printable

GAP = "  "
MAX_CELL = 40
"""The width of a column, unless it is the last one; longer cells wrap."""
NARROW = 30
"""A last column that needs more, and would get less, is shown below its row."""
BELOW = 4
"""The indentation of what is shown below its row."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], most: int = MAX_CELL) -> list[Line]:
    """Rows under a head. In a terminal, no line is wider than it is; elsewhere each row is one line."""
    cells = [tuple(head), *(tuple(printable.plain(cell) or "-" for cell in row) for row in rows)]
    widths = [min(most, max(len(row[at]) for row in cells)) for at in range(len(head) - 1)]
    if not sys.stdout.isatty():
        return [Line("info", GAP.join([*map(str.ljust, row, widths), row[-1]]).rstrip()) for row in cells]
    room = width() - MARK
    left = room - sum(widths) - len(GAP) * len(widths)
    if left >= min(NARROW, max(len(row[-1]) for row in cells)):
        lines = (text for row in cells for text in _side_by_side(row, [*widths, left]))
    elif left + len(GAP) >= 0 and max(len(row[-1]) for row in cells) > NARROW:
        lines = (text for row in cells for text in (*_side_by_side(row[:-1], widths), *_below(row[-1], room)))
    else:
        lines = (text for row in cells[1:] for text in _flowing(list(_labelled(head, row)), room))
    return [Line("info", text) for text in lines]


def folded(text: str, room: int) -> list[str]:
    """The lines of this text; words that are longer than a line are broken."""
    return textwrap.wrap(text, max(1, room), break_on_hyphens=False) or [""]


def _side_by_side(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    cells = [folded(cell, size) for cell, size in zip(row, widths, strict=True)]
    for texts in zip_longest(*cells, fillvalue=""):
        yield GAP.join(map(str.ljust, texts, widths)).rstrip()


def _below(cell: str, room: int) -> list[str]:
    return [" " * BELOW + text for text in folded(cell, room - BELOW)]


def _labelled(head: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    """The cells behind their titles, without those that are empty; the first one needs no title."""
    has_first = False
    for title, cell in zip(head, row, strict=True):
        if cell.strip(" -"):
            yield f"{title} {cell}" if has_first and title.strip() else cell
            has_first = has_first or bool(title.strip())


def _flowing(row: Sequence[str], room: int) -> Iterator[str]:
    """The cells one after the other, each behind its title: for a terminal that is too narrow for columns."""
    line = row[0] if row else ""
    for cell in map(str.lstrip, row[1:]):
        if len(line) + len(GAP) + len(cell) <= room:
            line += GAP + cell
        else:
            yield from folded(line, room)
            *whole, line = _below(cell, room)
            yield from whole
    yield from folded(line, room) if len(line) > room else [line.rstrip()]


def width() -> int:
    """The columns of the terminal."""
    return shutil.get_terminal_size().columns
