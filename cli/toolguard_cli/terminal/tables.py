"""Tables of plain text that lose nothing: cells wrap to the terminal's width, and are complete lines in a pipe or file."""

from __future__ import annotations

import re
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
SHORTEST = 24
"""No column becomes narrower than this because the terminal is, unless its longest word is shorter."""
_PIECES = re.compile(r"[^\s./_-]+[./_-]*|[./_-]+")
"""What a cell may be broken between: words, and the parts of a long name."""
_BREAKS = re.compile(rf"\s+|{_PIECES.pattern}")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], most: int = MAX_CELL) -> list[Line]:
    """Rows under a head. In a terminal, no line is wider than it is, and columns without a value are left out; elsewhere
    each row is one line.
    """
    cells = [tuple(head), *(tuple(printable.plain(cell) or "-" for cell in row) for row in rows)]
    widths = [min(most, max(len(row[at]) for row in cells)) for at in range(len(head) - 1)]
    if not sys.stdout.isatty():
        return [Line("info", GAP.join([*map(str.ljust, row, widths), row[-1]]).rstrip()) for row in cells]
    cells = _without_empty(cells)
    return [Line("info", text) for text in _fitted(cells, most, width() - MARK)]


def _without_empty(cells: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    kept = [at for at in range(len(cells[0])) if len(cells) == 1 or any(row[at].strip(" -") for row in cells[1:])]
    return [tuple(row[at] for at in kept) for row in cells] if kept else cells


def _fitted(cells: list[tuple[str, ...]], most: int, room: int) -> Iterable[str]:
    """The first form that fits: the last column beside the others or below its row, the others as wide as they are or
    squeezed; else one cell after the other."""
    columns = list(zip(*cells, strict=True))
    *widths, last = (max(map(len, column)) for column in columns)
    widths = [min(most, wide) for wide in widths]
    floors = [
        min(wide, max(len(head), min(SHORTEST, _longest(texts))))
        for wide, (head, *texts) in zip(widths, columns, strict=False)
    ]
    gaps, beside = len(GAP) * len(widths), min(NARROW, last)
    for least in (widths, floors):
        if sum(least) + gaps + beside <= room:
            sizes = _squeezed(widths, least, room - gaps - beside)
            return [text for row in cells for text in _side_by_side(row, [*sizes, room - gaps - sum(sizes)])]
        if last > NARROW and sum(least) + gaps <= room + len(GAP):
            sizes = _squeezed(widths, least, room + len(GAP) - gaps)
            return [text for row in cells for text in (*_side_by_side(row[:-1], sizes), *_below(row[-1], room))]
    return [text for row in cells[1:] for text in _flowing(list(_labelled(cells[0], row)), room)]


def _longest(texts: Iterable[str]) -> int:
    return max((len(piece) for text in texts for piece in _PIECES.findall(text)), default=0)


def _squeezed(widths: list[int], floors: list[int], room: int) -> list[int]:
    """The widths, the widest made narrower first, until they fit."""
    sizes = list(widths)
    while sum(sizes) > room:
        at = max(range(len(sizes)), key=lambda at: (sizes[at] > floors[at], sizes[at]))
        sizes[at] -= 1
    return sizes


def folded(text: str, room: int) -> list[str]:
    """The lines of this text; words that are longer than a line are broken."""
    return textwrap.wrap(text, max(1, room), break_on_hyphens=False) or [""]


def _side_by_side(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    cells = [_wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
    for texts in zip_longest(*cells, fillvalue=""):
        yield GAP.join(map(str.ljust, texts, widths)).rstrip()


def _wrapped(cell: str, size: int) -> list[str]:
    """The same as `folded`, but a name that is longer than a line is broken behind a dot, slash, hyphen or underscore."""
    lines = folded(cell, size)
    if len(cell) <= size or all(len(word) <= size for word in cell.split()):
        return lines
    lines = [""]
    for piece in _BREAKS.findall(cell):
        if len(lines[-1]) + len(piece.rstrip()) > size and lines[-1]:
            lines.append("")
        lines[-1] += piece if lines[-1] or piece.strip() else ""
        while len(lines[-1].rstrip()) > size:
            lines[-1:] = [lines[-1][:size], lines[-1][size:]]
    return [line.rstrip() for line in lines]


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
