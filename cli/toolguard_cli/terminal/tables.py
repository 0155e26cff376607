"""Tables of plain text as wide as the terminal, and formats for times."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime

from toolguard_cli.system.errors import UserError
from toolguard_cli.terminal.result import Line
from toolguard_engine.wording import printable

GAP = "  "
MARK = 6
"""The width of a line's mark (see `result`)."""

MAX_CELL = 40
FILE_WIDTH = 240
"""The width if the output is not a terminal, so that files get complete lines."""

_SPAN = re.compile(r"(\d{1,4})([smhdw])", re.ASCII)
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def table(head: Sequence[str], rows: Iterable[Sequence[str]], most: int = MAX_CELL) -> list[Line]:
    """Rows under a head, no cell wider than `most`; the last column takes the remaining width."""
    cells = [tuple(head), *(tuple(printable.plain(cell) or "-" for cell in row) for row in rows)]
    widths = [min(most, max(len(row[at]) for row in cells)) for at in range(len(head) - 1)]
    rest = max(20, width() - MARK - sum(widths) - len(GAP) * len(widths))
    return [Line("info", _row(row, widths, rest)) for row in cells]


def wrapped(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[Line]:
    """Like `table` without cutting: in a terminal, the last column wraps."""
    cells = [tuple(head), *(tuple(printable.plain(cell) or "-" for cell in row) for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head) - 1)]
    before = sum(widths) + len(GAP) * len(widths)
    room = max(20, width() - MARK - before) if sys.stdout.isatty() else 0
    lines = []
    for row in cells:
        first, *more = (textwrap.wrap(row[-1], room) if room else []) or [row[-1]]
        lines.append(GAP.join([*(cell.ljust(size) for cell, size in zip(row, widths, strict=False)), first]).rstrip())
        lines += [" " * before + text for text in more]
    return [Line("info", text) for text in lines]


def _row(row: Sequence[str], widths: list[int], rest: int) -> str:
    fixed = [printable.cut(cell, size).ljust(size) for cell, size in zip(row, widths, strict=False)]
    return GAP.join([*fixed, printable.cut(row[-1], rest)]).rstrip()


def width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else FILE_WIDTH


def seconds(span: str) -> int:
    """`30m`, `12h`, `7d`, `2w`, `45s` in seconds. Raises `UserError`."""
    found = _SPAN.fullmatch(span.strip().lower())
    if not found or not int(found[1]):
        raise UserError(f"{printable.cut(span, 40)!r} is not a duration", "write it like 30m, 12h or 7d")
    return int(found[1]) * _UNITS[found[2]]


def local(moment: float) -> str:
    try:
        return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return "?"
