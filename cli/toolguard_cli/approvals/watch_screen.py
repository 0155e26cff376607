"""The live list of held calls: what is on the screen and what a key does. Independent of the terminal.

Invariants: an approval is for the call that the question names, even if the list has changed; if that call is gone, the
question is too. An approval counts only after all that a person has to see of the call was on the screen: all of it, or its
dangers and the lines that have them if the guard has read the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from toolguard_engine.approvals import held_text, held_view, replies, session_grant
from toolguard_engine.approvals.held_view import HeldView
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.wording import printable

Style = Literal["", "bold", "reverse", "dim", "yellow"]
Verb = Literal["approve", "session", "deny", "quit"]

HELP = "j/k or arrows: select   a: approve   d: deny   q: quit"
SHORT_HELP = "j/k: select  a: approve  d: deny  q: quit"
CHROME = 5
"""Lines around the list: title, two blank lines, message or question, help."""

MIN_LIST = 3
"""Calls that are listed, however many dangers the selected one has."""
QUESTION_CHROME = 4
"""Lines around the call in question: which one, whose, a blank line, the question."""

Shows = Callable[[HeldCall], HeldView]

MIN_WIDTH, MIN_HEIGHT = 24, QUESTION_CHROME + 1
"""A smaller terminal cannot show the question."""

_MORE, _BACK = frozenset({" ", "pagedown", "down", "j"}), frozenset({"pageup", "up", "k"})
_UP, _DOWN = frozenset({"up", "k"}), frozenset({"down", "j"})
MOVES = _UP | _DOWN


@dataclass(frozen=True)
class ScreenView:
    """The state of the screen besides the calls. `asking`: the nonce that `y` would approve.

    Positions in its call, in characters: `top` is the first on the screen, `page` their number on the screen, and everything
    before `read` has been on the screen. They count characters, so that resizing the terminal skips none.
    """

    selected: str = ""
    asking: str = ""
    message: str = ""
    top: int = 0
    page: int = 0
    read: int = 0


@dataclass(frozen=True)
class WatchAction:
    """An action on a call; `nonce` is complete."""

    verb: Verb
    nonce: str = ""


@dataclass(frozen=True)
class ScreenRow:
    text: str
    style: Style = ""


def counting(pressed: Sequence[str]) -> Sequence[str]:
    """Which of the keys count that came at once. Of several only those do that move: the others were pressed before the
    effect of the first one was on the screen, or are pasted text."""
    return [key for key in pressed if len(pressed) == 1 or key in _MORE | _BACK]


def settled(view: ScreenView, calls: Sequence[HeldCall]) -> ScreenView:
    """The view of these calls: keeps the selection if it still exists, and the question while its call waits."""
    nonces = [entry.nonce for entry in calls]
    selected = view.selected if view.selected in nonces else (nonces[0] if nonces else "")
    waiting = {entry.nonce for entry in calls if entry.status == "pending"}
    return replace(view, selected=selected, asking=view.asking if view.asking in waiting else "")


def press(
    view: ScreenView, key: str, calls: Sequence[HeldCall], shows: Shows = held_view.view
) -> tuple[ScreenView, WatchAction | None]:
    """The new view after a key, and the requested action. `view` is what was on the screen: if its calls have changed, the
    key counts for none of them."""
    seen, view = view, settled(view, calls)
    if view != seen or key == "enter":  # pressed for a call that has gone; or it is not said what it would mean here
        return view, None
    asked = _asked(view, calls)
    if asked:
        return _answer(view, key, asked, shows)
    if key == "q":
        return view, WatchAction("quit")
    if key in MOVES:
        return replace(view, selected=_neighbour(view, key, calls), message=""), None
    chosen = next((entry for entry in calls if entry.nonce == view.selected), None)
    if chosen is None or key not in ("a", "d"):
        return view, None
    if key == "d":
        return replace(view, message=""), WatchAction("deny", chosen.nonce)
    if chosen.status != "pending":
        return replace(view, message=f"{chosen.nonce} is already approved"), None
    return ScreenView(view.selected, chosen.nonce), None


def _asked(view: ScreenView, calls: Sequence[HeldCall]) -> HeldCall | None:
    return next((entry for entry in calls if view.asking and entry.nonce == view.asking), None)


def _answer(view: ScreenView, key: str, asked: HeldCall, shows: Shows) -> tuple[ScreenView, WatchAction | None]:
    """The effect of a key while the question about a call is shown."""
    length = len(_asked_text(asked, shows))
    if key in _MORE:
        ahead = view.top + view.page
        return replace(view, top=min(ahead, view.read) if ahead < length else view.top), None
    if key in _BACK:
        return replace(view, top=max(0, view.top - view.page)), None
    verb: Verb | None = "approve" if key == "y" else "session" if key == "s" and _alike(asked) else None
    if verb and view.read < length:
        return view, None
    return ScreenView(view.selected), WatchAction(verb, view.asking) if verb else None


def shown(view: ScreenView, calls: Sequence[HeldCall], width: int, height: int, shows: Shows = held_view.view) -> ScreenView:
    """The view after its `screen` was drawn at this size, which records what the user has seen."""
    asked = _asked(view, calls)
    if asked is None or _too_small(width, height):
        return view
    page = sum(len(line) for line in _page(view, asked, width, height, shows))
    end = view.top + page
    return replace(view, page=page, read=max(view.read, end) if view.top <= view.read else view.read)


def _neighbour(view: ScreenView, key: str, calls: Sequence[HeldCall]) -> str:
    nonces = [entry.nonce for entry in calls]
    if not nonces:
        return ""
    at = nonces.index(view.selected) + (1 if key in _DOWN else -1)
    return nonces[min(max(at, 0), len(nonces) - 1)]


def screen(
    view: ScreenView,
    calls: Sequence[HeldCall],
    now: float,
    width: int,
    height: int,
    shows: Shows = held_view.view,
    keys_shown: tuple[str, str] = (HELP, SHORT_HELP),
) -> list[ScreenRow]:
    """All lines, none wider than `width`, no more than `height`. `keys_shown`: what the keys do, and the same in short."""
    view = settled(view, calls)
    if asked := _asked(view, calls):
        return _question(view, asked, width, height, shows)
    chosen = next((entry for entry in calls if entry.nonce == view.selected), calls[0] if calls else None)
    about = _details(chosen, width, max(0, height - CHROME - min(MIN_LIST, len(calls))), shows)
    room = max(1, height - CHROME - len(about))
    lines = replies.pending_lines(calls, now, max(20, width - 2))
    at = next((number for number, entry in enumerate(calls) if entry.nonce == view.selected), 0)
    first = max(0, min(at - room + 1, len(lines) - room))
    rows = [
        ScreenRow(f"{'>' if calls and n == at else ' '} {lines[n]}", _style(n == at, calls, n)) for n in range(len(lines))
    ]
    body = [ScreenRow(_title(calls), "bold"), ScreenRow(""), *rows[first : first + room], ScreenRow("")]
    keys_line = next((line for line in keys_shown if len(line) <= width), keys_shown[-1])
    return [
        ScreenRow(held_text.clipped(printable.plain(row.text), width), row.style)
        for row in [*body, *about, ScreenRow(view.message), ScreenRow(keys_line, "dim")]
    ][:height]


def _title(calls: Sequence[HeldCall]) -> str:
    waiting = sum(entry.status == "pending" for entry in calls)
    return f"toolguard: {waiting} call{'' if waiting == 1 else 's'} waiting for approval"


def _style(selected: bool, calls: Sequence[HeldCall], number: int) -> Style:  # noqa: FBT001
    if number >= len(calls):
        return "dim"
    if selected:
        return "reverse"
    return "dim" if calls[number].status != "pending" else ""


def _details(chosen: HeldCall | None, width: int, height: int, shows: Shows) -> list[ScreenRow]:
    """The call, all that it would do, and whose it is. What does not fit is cut; the question shows all of it."""
    if chosen is None or not height:
        return []
    shown = shows(chosen)
    why = f"held: {shown.why}" if shown.why else f"session {chosen.session or '-'}"
    head = ScreenRow(f"{shown.title}: {held_text.first_line(shown, max(1, width - len(shown.title) - 2))}")
    rows = [head, *(ScreenRow(line) for line in held_text.dangers(shown, width)), ScreenRow(why, "dim")]
    if len(rows) <= height:
        return rows
    return [*rows[: height - 1], ScreenRow(f"and {len(rows) - height + 1} more lines: press a to read on", "dim")]


def _too_small(width: int, height: int) -> bool:
    return width < MIN_WIDTH or height < MIN_HEIGHT


def _question(view: ScreenView, asked: HeldCall, width: int, height: int, shows: Shows) -> list[ScreenRow]:
    """A screen for this call only, one page at a time."""
    if _too_small(width, height):
        return [ScreenRow("make the terminal larger"[:width], "yellow")][:height]
    page = _page(view, asked, width, height, shows)
    total = len(_asked_text(asked, shows))
    seen = max(view.read, view.top + sum(len(line) for line in page))
    rows = [
        ScreenRow(f"{asked.nonce}: {asked.tool} by agent {asked.agent or '-'}, in {asked.cwd or 'its folder'}", "bold"),
        ScreenRow(f"session {asked.session or '-'}", "dim"),
        ScreenRow(""),
        *(ScreenRow(line.rstrip("\n")) for line in page),
        ScreenRow(_ask(asked, seen, total), "yellow"),
    ]
    return [ScreenRow(printable.cut(row.text, width), row.style) for row in rows]


def _ask(asked: HeldCall, seen: int, total: int) -> str:
    if seen < total:
        return f"Approve {asked.nonce}? space: read on ({total - seen} more characters), n: no"
    more = ", s: for this session" if _alike(asked) else ""
    return f"Approve {asked.nonce}? y: yes{more}, any other key: no"


def _asked_text(asked: HeldCall, shows: Shows) -> str:
    """All that has to be on the screen before a call is approved: the call, and what else an answer would allow."""
    view = shows(asked)
    height = held_text.HEIGHT - QUESTION_CHROME - 1
    short, whole = (held_text.lines(view, held_text.WIDTH, height, whole=whole) for whole in (False, True))
    lines = short if view.read or held_text.squeezed(short) == held_text.squeezed(whole) else whole
    alike = _alike(asked)
    return "\n".join([*lines, *([f"s also allows {alike}"] if alike else [])])


def _alike(asked: HeldCall) -> str:
    offer = session_grant.offer(asked)
    return f"{offer.scope}, {session_grant.IN_WORDS}" if offer.grant else ""


def _page(view: ScreenView, asked: HeldCall, width: int, height: int, shows: Shows) -> list[str]:
    room = height - QUESTION_CHROME
    return [line for line, _ in zip(_wrapped(_asked_text(asked, shows)[view.top :], width), range(room), strict=False)]


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The text in lines of at most `width` columns, complete: broken between words where that is not too early. A line end
    stays at the end of its line."""
    start = columns = space = 0
    for at, sign in enumerate(text):
        if columns + _columns(sign) > width or text[at - 1 : at] == "\n":
            end = space if text[at - 1] != "\n" and (space - start) * 2 > at - start else at
            yield text[start:end]
            start, columns = end, sum(map(_columns, text[end:at]))
        columns += _columns(sign)
        space = at + 1 if sign == " " else space
    yield text[start:]


def _columns(sign: str) -> int:
    """The most columns that a terminal may use, because a line that is too long would lose its end."""
    return 0 if sign == "\n" else 1 if sign.isascii() else 2
