"""Held calls as a chat shows them: whole where there is room, otherwise folded around what is dangerous. Pure.

A message is no longer than every channel takes. What does not fit is counted. A call that can be neither folded nor shown
whole in a few messages cannot be approved in chat.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from toolguard_engine import lazy_re
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.grant_matching import kind_of
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.wording.folded_text import folded
from toolguard_engine.wording.printable import cut, plain

MAX_TEXT = 3_500
"""Characters of a message, and some more for how to answer it. OpenClaw cuts longer ones into several."""
MIN_CALL = 1_200
MAX_WHOLE = 12_000
"""Characters of a call that cannot be folded: it is shown whole, in several messages if need be."""
MAX_LINE = 220
SHORT = 120
"""Characters of a line of a call that is listed beside others."""
MAX_SHORT = 3
"""Effects and rules each of such a call."""


FENCE = "```"
_FENCES = lazy_re.compile(f"{FENCE}+")


class ChatView(Struct, frozen=True):
    """`whole`: all of the call is in `lines`; `enough`: at least all its dangers are."""

    lines: tuple[str, ...]
    whole: bool
    enough: bool


def view(entry: HeldCall, would: Sequence[str], rules: Sequence[str], now: float, room: int = MAX_TEXT) -> ChatView:
    """One call, in about `room` characters. `would`: its effects with what is there now, one line each; `rules`: see
    `call_preview.rules`."""
    about = [*new_lines(entry), *effect_lines(would), *(f"rule   {cut(line, MAX_LINE)}" for line in rules)]
    head = f"{entry.nonce} is waiting for approval, {replies.state(entry, now)}: {_where(entry)}"
    why = f"held   {cut(f'{entry.reason} ({entry.code})' if entry.code else entry.reason, 2 * MAX_LINE)}"
    rest = len(head) + len(why) + sum(map(len, about))
    text = plain(entry.shown)
    call = _call(entry, text, max(MIN_CALL, room - rest))
    shown = call or f"{text[:SHORT]} ...[{len(text) - SHORT:,} characters not shown]"
    is_whole = call == text
    return ChatView((head, f"call   {shown}", why, *about), entry.whole and is_whole, enough=call is not None)


def _call(entry: HeldCall, text: str, room: int) -> str | None:
    """The call whole or folded, whole also where it takes several messages; None if it is too long even for that.

    Only commands are folded: the guard has read all of them. Of a file or a message it has not, so nothing is left out.
    """
    if len(text) <= room:
        return text
    effects = entry.details.effects if entry.details else ()
    is_read = kind_of(entry.tool) == "words" and not any(effect.kind == "write" for effect in effects)
    if is_read and not (entry.details and entry.details.more) and (shown := folded(text, dangers_of(entry), room)):
        return shown
    return text if len(text) <= MAX_WHOLE else None


def several(
    entries: Sequence[tuple[HeldCall, Sequence[str], Sequence[str]]], now: float, room: int = MAX_TEXT
) -> list[ChatView]:
    """Calls with their effects and rules, each with a fair share of the room: in full, or cut with what is strongest."""
    views: list[ChatView] = []
    for at, (entry, would, rules) in enumerate(entries):
        line = replies.pending_line(entry, now)
        why = [f"rule   {rule}" for rule in rules] or [f"held   {entry.reason or entry.code}"]
        acts = [*new_lines(entry), *effect_lines(would)]
        about = [*acts, *(cut(reason, MAX_LINE) for reason in why)] if entry.status == "pending" else []
        full = (*_beside(line, entry), *about) if about else (line,)
        share = room // (len(entries) - at)
        is_full = entry.whole and _length(full) <= share
        views.append(ChatView(full if is_full else _cut_down(line, acts, why if about else [], share), is_full, is_full))
        room -= _length(views[-1].lines)
    return views


def new_lines(entry: HeldCall) -> list[str]:
    """What the call would do that it would not have done when it was shown or granted before."""
    return [f"new    {cut(plain(line), MAX_LINE)}" for line in entry.changes]


def effect_lines(would: Sequence[str]) -> list[str]:
    return [f"would  {cut(line, MAX_LINE)}" for line in would] or [f"would  {replies.UNNAMED}"]


def _beside(line: str, entry: HeldCall) -> list[str]:
    """The line of a list, and the call below it if the line is too short for it."""
    return [line] if plain(entry.shown) in line else [line, f"call   {plain(entry.shown)}"]


def literal(lines: Sequence[str]) -> list[str]:
    """The lines as a block that no chat reads as markup, which could hide parts of a call (`<!--`), or call somebody."""
    return [FENCE, *(_FENCES.sub(lambda run: f"<U+0060 x{len(run[0])}>", line) for line in lines), FENCE]


def _cut_down(line: str, acts: Sequence[str], why: Sequence[str], room: int) -> tuple[str, ...]:
    """The line of a call, the first of its effects and of its rules."""
    if not why:
        return (line,)
    some = (line, *_short(acts, MAX_SHORT), *_short(why, MAX_SHORT))
    return some if _length(some) <= room else (line, *_short(acts, 1), *_short(why, 1))


def _short(lines: Sequence[str], most: int) -> list[str]:
    more = f" (and {len(lines) - most} more)" if len(lines) > most else ""
    shown = [cut(line, SHORT) for line in lines[:most]]
    return [*shown[:-1], f"{shown[-1]}{more}"] if shown else []


def _length(lines: Sequence[str]) -> int:
    return sum(map(len, lines)) + len(lines)


def _where(entry: HeldCall) -> str:
    agent = f"agent {cut(entry.agent, 40)}" if entry.agent else "an unknown agent"
    return f"{agent}, in {cut(entry.cwd, 120)}" if entry.cwd else agent


def dangers_of(entry: HeldCall) -> list[tuple[str, ...]]:
    """What the call does something to, and what its reason and its rules name, each in the spellings that it may have."""
    if entry.details is None:
        return []
    named = re.findall(r"\(([^()]{3,})\)$", entry.reason)[:1]
    texts = [*named, *(rule.target for rule in entry.details.rules)]
    effects = [(effect.target, effect.path) for effect in entry.details.effects]
    parts = [tuple(filter(None, effect)) for effect in [*effects, *((text,) for text in texts)]]
    return list(dict.fromkeys(tuple(text.removesuffix("...") for text in part) for part in parts if part))
