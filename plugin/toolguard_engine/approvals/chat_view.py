"""Held calls as a chat shows them: in short where the guard has read what is left out, otherwise whole. Pure.

A message is no longer than every channel takes. What does not fit is counted. A call that can neither be shown in short nor
whole in a few messages cannot be approved in chat.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from toolguard_engine import lazy_re
from toolguard_engine.approvals import held_text, replies
from toolguard_engine.approvals.held_text import UNWRAPPED
from toolguard_engine.approvals.held_view import HeldView
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.wording.printable import counted, cut, plain

MAX_TEXT = 3_500
"""Characters of a message, and some more for how to answer it. OpenClaw cuts longer ones into several."""
MAX_WHOLE = 12_000
"""Characters of a call that cannot be shown in short: it is shown whole, in several messages if need be."""
OTHER_LINES = 8
"""Lines of a message that are not about the call: which it is, and how to answer."""
SHORT, MIN_SHORT = 120, 24
"""Characters of a danger of a call that is listed beside others."""

FENCE = "```"
_FENCES = lazy_re.compile(f"{FENCE}+")


class ChatView(Struct, frozen=True):
    """`whole`: all of the call is in `lines`; `enough`: at least all its dangers are, and what else may matter."""

    lines: tuple[str, ...]
    whole: bool
    enough: bool


def view(entry: HeldCall, held: HeldView, now: float) -> ChatView:
    """One call, as short as it may be."""
    head = (f"{entry.nonce} is waiting for approval, {replies.state(entry, now)}", _where(entry))
    room = held_text.HEIGHT - OTHER_LINES
    short, everything = held_text.lines(held, UNWRAPPED, room), held_text.lines(held, UNWRAPPED, room, whole=True)
    if held.read or short == everything:
        return ChatView((*head, *short), entry.whole and short == everything, enough=entry.whole)
    if entry.whole and _length(everything) <= MAX_WHOLE:
        return ChatView((*head, *everything), whole=True, enough=True)
    return ChatView((*head, *short), whole=False, enough=False)


def several(entries: Sequence[tuple[HeldCall, HeldView]], now: float, room: int = MAX_TEXT) -> list[ChatView]:
    """Calls, each with a fair share of the room: as if it were alone, or with its dangers only."""
    views: list[ChatView] = []
    for at, (entry, held) in enumerate(entries):
        share = room // (len(entries) - at)
        views.append(_beside(entry, held, now, share))
        room -= _length(views[-1].lines)
    return views


def _beside(entry: HeldCall, held: HeldView, now: float, share: int) -> ChatView:
    if entry.status != "pending":
        return ChatView((replies.pending_line(entry, now),), whole=False, enough=False)
    alone = view(entry, held, now)
    if _length(alone.lines) <= share:
        return alone
    head = (replies.brief(entry, now), held_text.first_line(held, max(MIN_SHORT, min(SHORT, share // 2))))
    dangers = held_text.dangers(held, SHORT)
    if _length((*head, *dangers)) <= share:
        return ChatView((*head, *dangers), whole=False, enough=False)
    room = share - _length(head) - len(f"and {counted(len(dangers), 'more danger')}") - 1
    listed = [text for text, end in zip(dangers, _ends(dangers), strict=True) if end <= room]
    more = f"and {counted(len(dangers) - len(listed), 'more danger')}" if listed else held.title
    return ChatView((*head, *listed, more), whole=False, enough=False)


def literal(lines: Sequence[str]) -> list[str]:
    """The lines as a block that no chat reads as markup, which could hide parts of a call (`<!--`), or call somebody."""
    return [FENCE, *(_FENCES.sub(lambda run: f"<U+0060 x{len(run[0])}>", line) for line in lines), FENCE]


def _ends(lines: Sequence[str]) -> list[int]:
    """How long the text is with each line."""
    return list(accumulate(len(line) + 1 for line in lines))


def _length(lines: Sequence[str]) -> int:
    return sum(map(len, lines)) + len(lines)


def _where(entry: HeldCall) -> str:
    agent = f"agent {cut(entry.agent, 40)}" if entry.agent else "an unknown agent"
    return f"{plain(entry.tool)} by {agent}{f', in {cut(entry.cwd, SHORT)}' if entry.cwd else ''}"
