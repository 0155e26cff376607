"""Tables of plain text that lose nothing: cells wrap to the terminal's width, and are complete lines in a pipe or file."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from toolguard_cli.terminal.result import Line
from toolguard_engine.wording import printable

GAP = "  "
MARK = 6
"""The width of a line's mark (see `result`)."""

MAX_CELL = 40
"""The width of a column, unless it is the last one; longer cells wrap."""
LEAST_CELL = 4
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
    rest = room - sum(widths) - len(GAP) * len(widths)
    fits = rest >= min(NARROW, max(len(row[-1]) for row in cells))
    columns = [*widths, rest] if fits else _shrunk(widths, room)
    return [Line("info", text) for row in cells for text in _lines(row, columns, room)]


def wrapped(text: str, room: int) -> list[str]:
    """The lines of this text; words that are longer than a line are broken."""
    return textwrap.wrap(text, max(1, room), break_on_hyphens=False, subsequent_indent="") or [""]


def _shrunk(widths: list[int], room: int) -> list[int]:
    """The widths without the last column, the widest reduced until they fit; the first, which names the row, stays."""
    first, others = widths[:1], list(widths[1:])
    while sum(first + others) + len(GAP) * len(others) > room and max(others, default=0) > LEAST_CELL:
        others[others.index(max(others))] -= 1
    return first + others


def _lines(row: Sequence[str], columns: Sequence[int], room: int) -> Iterator[str]:
    """The row side by side; the last cell below it if there is no column for it."""
    cells = [wrapped(cell, size) for cell, size in zip(row, columns, strict=False)]
    for texts in zip_longest(*cells, fillvalue=""):
        yield GAP.join(map(str.ljust, texts, columns)).rstrip()
    if len(row) > len(columns):
        yield from (" " * BELOW + text for text in wrapped(row[-1], room - BELOW))


def width() -> int:
    """The columns of the terminal."""
    return shutil.get_terminal_size().columns
