"""Where something is, as a person finds it: line, column, and the line itself with a caret below.

Lines and columns count from 1, columns in characters; a byte order mark at the start of the text is not counted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import accumulate, takewhile

WIDTH = 76  # of an excerpt, in columns of a terminal
LEAD = 50  # of that at most before the caret

_LINE = re.compile("(?P<content>[^\n\r\u2028\u2029]*+)(?P<end>\r\n|[\n\r\u2028\u2029])?")
_MARK = "\ufeff"
_MOST = 2 * WIDTH  # characters; marks above others take no column, and there could be a million of them


def place(text: str, at: int) -> tuple[int, int]:
    """The line and column of offset `at`; a line break is the last column of its line."""
    line, start = 1, _start(text)
    while (match := _LINE.match(text, start)) and match["end"] is not None and match.end() <= at:
        line, start = line + 1, match.end()
    last = len(text) if match is None else match.end("content")
    return line, max(min(at, last) - start, 0) + 1


def excerpt(text: str, line: int, column: int) -> str:
    """Two lines: that line of the text, cut to what fits, and a caret below that column of it.

    Tabs and what cannot be printed are shown as a blank. A line or column behind the end is the end.
    """
    content = _content(text, line)
    at = min(column - 1, len(content))
    left = at - _fitting(reversed(content[max(0, at - _MOST) : at]), LEAD)
    right = at + _fitting(content[at : at + _MOST], WIDTH - _width(content[left:at]))
    before, behind = _printable(content[left:at]), _printable(content[at:right])
    lead, tail = "..." if left else "", "..." if right < len(content) else ""
    return f"{lead}{before}{behind}{tail}\n{' ' * (len(lead) + _width(before))}^"


def _start(text: str) -> int:
    return len(_MARK) if text.startswith(_MARK) else 0


def _content(text: str, line: int) -> str:
    start = _start(text)
    for _ in range(line - 1):
        match = _LINE.match(text, start)
        if match is None or match["end"] is None:
            break
        start = match.end()
    match = _LINE.match(text, start)
    return match["content"] if match else ""


def _fitting(chars: Iterable[str], columns: int) -> int:
    """How many of the characters, from the first on, take at most so many columns."""
    widths = accumulate(_columns(char) for char in chars)
    return sum(1 for _ in takewhile(lambda width: width <= columns, widths))


def _printable(part: str) -> str:
    return "".join(char if char.isprintable() else " " for char in part)


def _width(part: str) -> int:
    """The columns that a terminal takes for it."""
    return sum(_columns(char) for char in part)


def _columns(char: str) -> int:
    if not char.isprintable():
        return 1
    if unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
