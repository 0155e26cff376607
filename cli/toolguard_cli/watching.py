"""The live list of held calls, without a terminal: what is on the screen, and what a key means.

The law: a yes is for the call that the question names, not for the one that stands in its place by now; where that call
has gone, so has the question.
"""

from __future__ import annotations

from collections.abc import Sequence
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
_UP, _DOWN = frozenset({"up", "k"}), frozenset({"down", "j"})
_NAMES = {"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down", "\x03": "q", "\x04": "q"}


@dataclass(frozen=True)
class View:
    """What the person sees besides the calls themselves. `asking` is the nonce that a yes would approve."""

    selected: str = ""
    asking: str = ""
    message: str = ""


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
    """What was pressed: `up`, `down`, or the character; of other control sequences nothing."""
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
    if view.asking:
        return replace(view, asking="", message=""), Act("approve", view.asking) if key == "y" else None
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
    return replace(view, asking=chosen.nonce, message=""), None


def _neighbour(view: View, key: str, calls: Sequence[Entry]) -> str:
    nonces = [entry.nonce for entry in calls]
    if not nonces:
        return ""
    at = nonces.index(view.selected) + (1 if key in _DOWN else -1)
    return nonces[min(max(at, 0), len(nonces) - 1)]


def screen(view: View, calls: Sequence[Entry], now: float, width: int, height: int) -> list[Row]:
    """All lines, none wider than `width`, no more than `height`."""
    view = settled(view, calls)
    room = max(1, height - CHROME - DETAILS)
    lines = answers.pending_lines(calls, now, max(20, width - 2))
    at = next((number for number, entry in enumerate(calls) if entry.nonce == view.selected), 0)
    first = max(0, min(at - room + 1, len(lines) - room))
    rows = [Row(f"{'>' if calls and n == at else ' '} {lines[n]}", _style(n == at, calls, n)) for n in range(len(lines))]
    chosen = calls[at] if calls else None
    body = [Row(_title(calls), "bold"), Row(""), *rows[first : first + room], Row("")]
    return [
        Row(answers.cut(row.text, width), row.style)
        for row in [*body, *_details(chosen, width), _bottom(view), Row(HELP, "dim")]
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
    """The selected call in full, over as many lines as there are for it."""
    if chosen is None:
        return []
    text = answers.plain(f"{chosen.tool} {chosen.shown}")
    call = [text[at : at + width] for at in range(0, len(text), width)][: DETAILS - 1]
    if len(text) > width * (DETAILS - 1):
        call[-1] = answers.cut(call[-1] + "....", width)
    return [
        *(Row(line) for line in call),
        Row(f"session {chosen.session or '-'}; held: {chosen.reason or chosen.code}", "dim"),
    ]


def _bottom(view: View) -> Row:
    return Row(f"Approve {view.asking}? y: yes, any other key: no", "yellow") if view.asking else Row(view.message)
