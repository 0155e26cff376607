"""A held call as lines of text, for terminals, chats and messages. Pure: all that is said is in the `HeldView`.

Where there is little room, first what rules say, then the length of each line, and at last the lines that are not dangerous
are given up; no danger ever is.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, takewhile

from toolguard_engine.approvals.held_view import UNREAD, CodeBlock, CodeRow, Danger, HeldView
from toolguard_engine.wording.printable import counted

WIDTH, HEIGHT = 80, 25
UNWRAPPED = 100_000
"""The width of a text that is wrapped where it is shown."""
GUTTER = 6
"""Columns of the number of a line and its mark."""
MIN_SHARE = 24
"""Columns of a danger among others."""
DOTS = "..."


@dataclass(frozen=True)
class _Detail:
    """What is shown of a danger, into how many lines each text may wrap, and whether more than the dangers is shown."""

    reasons: bool
    wraps: int
    rows: int
    calm: bool = True


_DETAILS = (
    _Detail(reasons=True, wraps=8, rows=8),
    _Detail(reasons=True, wraps=2, rows=3),
    _Detail(reasons=False, wraps=1, rows=2),
    _Detail(reasons=False, wraps=1, rows=1, calm=False),
)


def lines(view: HeldView, width: int = WIDTH, height: int = HEIGHT, *, whole: bool = False) -> list[str]:
    """The call in lines of at most `width` columns, and no more than `height` where all its dangers fit. `whole`: with all
    lines of its code, however many and however long."""
    detail = next(
        (detail for detail in _DETAILS if len(list(_laid_out(view, width, detail, whole=False))) <= height), _DETAILS[-1]
    )
    return list(_laid_out(view, width, detail, whole=whole))


def dangers(view: HeldView, width: int) -> list[str]:
    """The dangers alone, one line each."""
    return [_fitting(danger, width) for danger in view.dangers]


def reasons(view: HeldView, width: int, wraps: int = 2) -> Iterator[str]:
    """What is new since the call was shown, and why it is held where the dangers do not say that. `wraps`: into how many
    lines each may wrap."""
    yield from (text for line in view.changes for text in _some(f"new: {line}", width, wraps, 5))
    if view.why:
        yield from _some(f"held: {view.why}", width, wraps, 6)


def in_short(view: HeldView, room: int) -> str:
    """The dangers in about `room` characters, each with a fair share of it; those that there is no room for are counted."""
    dangers = view.dangers
    if len(dangers) == 1:
        return _fitting(dangers[0], room)
    for shown in range(len(dangers), 0, -1):
        more = f"; and {len(dangers) - shown} more" if shown < len(dangers) else ""
        numbers = sum(len(f"; {at}) ") for at in range(1, shown + 1))
        needs = [columns(_headline(danger)) for danger in dangers[:shown]]
        shares = _shares(needs, room - len(f"{view.title}{more}") - numbers)
        if all(share >= min(need, MIN_SHARE) for need, share in zip(needs, shares, strict=True)):
            break
    texts = [f"{at}) {_fitting(danger, share)}" for at, (danger, share) in enumerate(zip(dangers, shares, strict=False), 1)]
    return f"{view.title}: {'; '.join(texts)}{more}"


def _shares(needs: list[int], room: int) -> list[int]:
    """The room of each text: what it needs, or a fair share of what the shorter ones leave."""
    shares = [0] * len(needs)
    for done, at in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        shares[at] = max(0, min(needs[at], room // (len(needs) - done)))
        room -= shares[at]
    return shares


def squeezed(lines: list[str]) -> str:
    """The text of these lines, however they are wrapped."""
    return "".join("".join(line.split()) for line in lines)


def first_line(view: HeldView, width: int = WIDTH) -> str:
    """The call in one line: what is dangerous of its code, or its first line."""
    rows = [row for block in view.blocks for row in block.rows]
    row = next((row.text for row in rows if row.danger), rows[0].text if rows else ", ".join(view.fields))
    hidden = sum(block.hidden for block in view.blocks) + len(rows) - 1
    more = f" ({counted(hidden, 'more line')})" if hidden > 0 else ""
    return f"{clipped(row, width - len(more))}{more}"


def code(view: HeldView) -> str:
    """The lines of code that are shown, as one text."""
    blocks = ["\n".join([row.text for row in block.rows] + _more(block.hidden)) for block in view.blocks]
    return "\n".join([*view.fields, *blocks])


def _laid_out(view: HeldView, width: int, detail: _Detail, *, whole: bool) -> Iterator[str]:
    yield from reasons(view, width, detail.wraps)
    yield f"{view.title}:"
    for number, danger in enumerate(view.dangers, 1):
        yield from _danger(number, danger, width, detail)
    if view.also:
        yield from _some(f"also {'; '.join(view.also)}", width, max(1, detail.wraps // 4), 5)
    notes = [note for note in view.notes if not (whole and note == UNREAD)]
    yield from (text for note in notes for text in _some(note, width, 2, 0))
    yield from _fields(view, width, detail, whole=whole)
    for block in view.blocks:
        yield from _code(block, width, detail, whole=whole)


def _fields(view: HeldView, width: int, detail: _Detail, *, whole: bool) -> Iterator[str]:
    if whole:
        yield from view.fields
    elif detail.calm:
        yield from (text for field in view.fields for text in _some(field, width, 2, 2))
    elif view.fields:
        yield f"{DOTS} {counted(len(view.fields), 'more argument')}"


def _danger(number: int, danger: Danger, width: int, detail: _Detail) -> Iterator[str]:
    if detail.wraps == 1:
        yield f"{number:>2} {_fitting(danger, width - 3)}"
    else:
        yield from _some(f"{number:>2} {_headline(danger)}", width, detail.wraps, 3)
    if detail.reasons:
        yield from (text for why in danger.why for text in _some(f"   {why}", width, detail.wraps, 3))


def _fitting(danger: Danger, width: int) -> str:
    """The danger in one line, with as much as there is room for."""
    known = f": {danger.now}" if danger.now else ""
    target = danger.target or danger.brief
    texts = (f"{danger.text}{known}", f"{danger.brief}{known}", danger.brief, target)
    return next((text for text in texts if columns(text) <= width), clipped(target, width))


def _headline(danger: Danger) -> str:
    return f"{danger.text}: {danger.now}" if danger.now else danger.text


def _code(block: CodeBlock, width: int, detail: _Detail, *, whole: bool) -> Iterator[str]:
    rows = block.rows
    if whole:
        marked = {row.number for row in rows if row.danger}
        rows = tuple(CodeRow(number, text, number in marked) for number, text in enumerate(block.whole.split("\n"), 1))
    total = len(block.rows) + block.hidden
    if total == 1:
        name = f"{block.name}: " if block.name else ""
        yield from _hard(f"{name}{rows[0].text}", UNWRAPPED if whole else width, 2, max(detail.rows, 4))
        return
    count = f" ({counted(total, 'line')}):"
    name = block.name or "call"
    yield f"{name if whole else clipped(name, width - len(count))}{count}"
    rows = rows if whole or detail.calm else tuple(row for row in rows if row.danger)
    for row in rows:
        most = None if whole else detail.rows if row.danger else max(1, detail.rows // 2)
        first, *rest = _hard(row.text, UNWRAPPED if whole else width - GUTTER, 0, most)
        yield f"{row.number:>4}{'>' if row.danger else ' '} {first}".rstrip()
        yield from (f"{' ' * GUTTER}{text}" for text in rest)
    if not whole:
        yield from _more(total - len(rows))


def _more(hidden: int) -> list[str]:
    return [f"{DOTS} {counted(hidden, 'more line')}"] if hidden else []


def _some(text: str, width: int, most: int, hang: int) -> list[str]:
    """The text in lines broken between words, at most so many."""
    if width >= UNWRAPPED:
        return [text]
    wrapped = list(_wrapped(text, width, hang))
    if len(wrapped) <= most:
        return wrapped
    return [*wrapped[: most - 1], clipped(f"{wrapped[most - 1]} {wrapped[most].strip()}", width, cut=True)]


def _wrapped(text: str, width: int, hang: int) -> Iterator[str]:
    used = len(text) - len(text.lstrip())
    line, is_empty = " " * used, True
    for word in text.split():
        wide = columns(word)
        if not is_empty and used + 1 + wide > width:
            yield line
            line, used, is_empty = " " * hang, hang, True
        line, used = f"{line}{'' if is_empty else ' '}{word}", used + (not is_empty) + wide
        is_empty = False
        if used > width:
            *full, line = _hard(line, width, hang, None)
            used = columns(line)
            yield from full
    yield line


def _hard(text: str, width: int, hang: int, most: int | None) -> list[str]:
    """The text in lines broken anywhere, at most so many, the last of which then says that it is cut."""
    lines, line, used = list[str](), "", 0
    for sign in text:
        wide = columns(sign)
        if used + wide > width:
            lines.append(line)
            line, used = " " * hang, hang
        line, used = line + sign, used + wide
    lines.append(line)
    if most is None or len(lines) <= most:
        return lines
    return [*lines[: most - 1], clipped(lines[most - 1], width, cut=True)]


def clipped(text: str, width: int, *, cut: bool = False) -> str:
    """The beginning of the text in `width` columns. `cut`: it is not all even if it fits."""
    if columns(text) <= width and not cut:
        return text
    ends = accumulate(columns(sign) for sign in text)
    fitting = sum(1 for _ in takewhile(lambda end: end <= width - len(DOTS), ends))
    return f"{text[:fitting]}{DOTS}"[: max(0, width)]


def columns(text: str) -> int:
    """The most columns that a terminal uses for it."""
    return len(text) if text.isascii() else sum(2 if unicodedata.east_asian_width(sign) in "WFA" else 1 for sign in text)
