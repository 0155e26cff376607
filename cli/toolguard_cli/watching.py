"""The live list of held calls, without a terminal: what is on the screen, and what a key means.

The law: a yes is for the call that the question names, not for the one that stands in its place by now; where that call
has gone, so has the question. And a yes counts only after all of that call was on the screen, from its first character to
its last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from toolguard_engine import answers
from toolguard_engine.ledger import Entry

Style = Literal["", "bold", "reverse", "dim", "yellow"]
Verb = Literal["approve", "deny", "quit"]

HELP = "j/k or arrows: select   a: approve   d: deny   q: quit"
CHROME = 5
"""Lines around the list: title, two empty ones, message or question, help."""

DETAILS = 4
QUESTION_CHROME = 4
"""Lines around the call that is asked about: which one, why it is held, an empty one, the question."""

MIN_WIDTH, MIN_HEIGHT = 24, QUESTION_CHROME + 1
"""A smaller terminal cannot show what is asked."""

_MORE, _BACK = frozenset({" ", "pagedown", "down", "j"}), frozenset({"pageup", "up", "k"})
_UP, _DOWN = frozenset({"up", "k"}), frozenset({"down", "j"})
_NAMES = {"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down", "\x03": "q", "\x04": "q"}
_NAMES |= {"\x1b[5~": "pageup", "\x1b[6~": "pagedown"}


@dataclass(frozen=True)
class View:
    """What the person sees besides the calls themselves. `asking` is the nonce that a yes would approve.

    Of its call, in characters: `top` is the first on the screen, `page` how many there are on it, and all before `read`
    have been on it. Characters and not lines, so that a terminal that changes its size skips none.
    """

    selected: str = ""
    asking: str = ""
    message: str = ""
    top: int = 0
    page: int = 0
    read: int = 0


@dataclass(frozen=True)
class Act:
    """What is to be done; `nonce` is a whole one."""

    verb: Verb
    nonce: str = ""


@dataclass(frozen=True)
class Row:
    text: str
    style: Style = ""


def keys(data: str) -> list[str]:
    """What was pressed: `up`, `pagedown` and their like, or the character; of other control sequences nothing."""
    found: list[str] = []
    while data:
        name = next((name for name in _NAMES if data.startswith(name)), "")
        if name:
            found.append(_NAMES[name])
        elif data.startswith(("\x1b[", "\x1bO")):
            return found
        elif data[0].isprintable():
            found.append(data[0].lower())
        data = data[len(name) or 1 :]
    return found


def settled(view: View, calls: Sequence[Entry]) -> View:
    """The view on these calls: the same one selected, if it is still there; the question only while its call waits."""
    nonces = [entry.nonce for entry in calls]
    selected = view.selected if view.selected in nonces else (nonces[0] if nonces else "")
    waiting = {entry.nonce for entry in calls if entry.status == "pending"}
    return replace(view, selected=selected, asking=view.asking if view.asking in waiting else "")


def press(view: View, key: str, calls: Sequence[Entry]) -> tuple[View, Act | None]:
    """What a key changes, and what it asks for."""
    view = settled(view, calls)
    asked = _asked(view, calls)
    if asked:
        return _answer(view, key, len(_text(asked)))
    if key == "q":
        return view, Act("quit")
    if key in _UP | _DOWN:
        return replace(view, selected=_neighbour(view, key, calls), message=""), None
    chosen = next((entry for entry in calls if entry.nonce == view.selected), None)
    if chosen is None or key not in ("a", "d"):
        return view, None
    if key == "d":
        return replace(view, message=""), Act("deny", chosen.nonce)
    if chosen.status != "pending":
        return replace(view, message=f"{chosen.nonce} is approved already"), None
    return View(view.selected, chosen.nonce), None


def _asked(view: View, calls: Sequence[Entry]) -> Entry | None:
    return next((entry for entry in calls if view.asking and entry.nonce == view.asking), None)


def _answer(view: View, key: str, length: int) -> tuple[View, Act | None]:
    """What a key says to the question about a call of this length."""
    if key in _MORE:
        ahead = view.top + view.page
        return replace(view, top=min(ahead, view.read) if ahead < length else view.top), None
    if key in _BACK:
        return replace(view, top=max(0, view.top - view.page)), None
    if key == "y" and view.read < length:
        return view, None
    return View(view.selected), Act("approve", view.asking) if key == "y" else None


def shown(view: View, calls: Sequence[Entry], width: int, height: int) -> View:
    """The view after its `screen` was drawn in this size: it knows what the person has seen."""
    asked = _asked(view, calls)
    if asked is None or _too_small(width, height):
        return view
    page = sum(len(line) for line in _page(view, asked, width, height))
    end = view.top + page
    return replace(view, page=page, read=max(view.read, end) if view.top <= view.read else view.read)


def _neighbour(view: View, key: str, calls: Sequence[Entry]) -> str:
    nonces = [entry.nonce for entry in calls]
    if not nonces:
        return ""
    at = nonces.index(view.selected) + (1 if key in _DOWN else -1)
    return nonces[min(max(at, 0), len(nonces) - 1)]


def screen(view: View, calls: Sequence[Entry], now: float, width: int, height: int) -> list[Row]:
    """All lines, none wider than `width`, no more than `height`."""
    view = settled(view, calls)
    if asked := _asked(view, calls):
        return _question(view, asked, width, height)
    room = max(1, height - CHROME - DETAILS)
    lines = answers.pending_lines(calls, now, max(20, width - 2))
    at = next((number for number, entry in enumerate(calls) if entry.nonce == view.selected), 0)
    first = max(0, min(at - room + 1, len(lines) - room))
    rows = [Row(f"{'>' if calls and n == at else ' '} {lines[n]}", _style(n == at, calls, n)) for n in range(len(lines))]
    chosen = calls[at] if calls else None
    body = [Row(_title(calls), "bold"), Row(""), *rows[first : first + room], Row("")]
    return [
        Row(answers.cut(row.text, width), row.style)
        for row in [*body, *_details(chosen, width), Row(view.message), Row(HELP, "dim")]
    ][:height]


def _title(calls: Sequence[Entry]) -> str:
    waiting = sum(entry.status == "pending" for entry in calls)
    return f"toolguard: {waiting} call{'' if waiting == 1 else 's'} waiting for a person"


def _style(selected: bool, calls: Sequence[Entry], number: int) -> Style:  # noqa: FBT001
    if number >= len(calls):
        return "dim"
    if selected:
        return "reverse"
    return "dim" if calls[number].status != "pending" else ""


def _details(chosen: Entry | None, width: int) -> list[Row]:
    """The selected call, over as many lines as there are for it; the question shows all of it."""
    if chosen is None:
        return []
    text = _text(chosen)
    call = [text[at : at + width] for at in range(0, len(text), width)][: DETAILS - 1]
    if len(text) > width * (DETAILS - 1):
        call[-1] = answers.cut(call[-1] + "....", width)
    return [
        *(Row(line) for line in call),
        Row(f"session {chosen.session or '-'}; held: {chosen.reason or chosen.code}", "dim"),
    ]


def _text(entry: Entry) -> str:
    """The whole call."""
    return answers.plain(entry.shown if entry.shown.startswith(f"{entry.tool}(") else f"{entry.tool} {entry.shown}")


def _too_small(width: int, height: int) -> bool:
    return width < MIN_WIDTH or height < MIN_HEIGHT


def _question(view: View, asked: Entry, width: int, height: int) -> list[Row]:
    """A screen for this call alone, as much of it as there is room for."""
    if _too_small(width, height):
        return [Row("make the terminal larger"[:width], "yellow")][:height]
    page = _page(view, asked, width, height)
    total = len(_text(asked))
    seen = max(view.read, view.top + sum(len(line) for line in page))
    rows = [
        Row(f"{asked.nonce}: agent {asked.agent or '-'}, session {asked.session or '-'}", "bold"),
        Row(f"held: {asked.reason or asked.code}", "dim"),
        Row(""),
        *(Row(line) for line in page),
        Row(_ask(asked.nonce, seen, total), "yellow"),
    ]
    return [Row(answers.cut(row.text, width), row.style) for row in rows]


def _ask(nonce: str, seen: int, total: int) -> str:
    if seen < total:
        return f"Approve {nonce}? space: read on ({total - seen} more characters), n: no"
    return f"Approve {nonce}? y: yes, any other key: no"


def _page(view: View, asked: Entry, width: int, height: int) -> list[str]:
    """The lines of the call that are on the screen."""
    room = height - QUESTION_CHROME
    return [line for line, _ in zip(_wrapped(_text(asked)[view.top :], width), range(room), strict=False)]


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The text in lines of at most `width` columns; nothing is left out."""
    start = columns = 0
    for at, sign in enumerate(text):
        wide = _columns(sign)
        if columns + wide > width:
            yield text[start:at]
            start, columns = at, 0
        columns += wide
    yield text[start:]


def _columns(sign: str) -> int:
    """How many columns a terminal may take for it; a line that is too short loses nothing, one too long its end."""
    return 1 if sign.isascii() else 2
