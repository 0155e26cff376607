"""Approvals in chat: what is approved was shown in that chat before. See `approvals.confirmation_codes`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable

from msgspec import Struct

from toolguard_engine.approvals import chat_senders, chat_view, confirmation_codes, repeatable_calls, replies, session_grant
from toolguard_engine.approvals.confirmation_codes import ConfirmationCodes, Showing
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.server import call_preview
from toolguard_engine.wire.messages import PersonDecision

MAX_IN_FULL = 20
"""Calls whose effects are looked up for one list."""


class ChatAnswer(Struct, frozen=True):
    """`counts`: the message approves the call, and `text` is the reason in it; otherwise `text` is the answer, and `ok`
    whether that is no error."""

    counts: bool
    text: str
    ok: bool = False


class ChatApprovals:
    """Not for several threads at once."""

    def __init__(self) -> None:
        self.undo: Callable[[str], str] = lambda _: ""
        """How to undo the call of a nonce; empty if that is not possible."""
        self._codes = ConfirmationCodes(secrets.token_bytes(32))

    def answer(self, message: PersonDecision, entry: HeldCall, now: float, also: str = "") -> ChatAnswer:
        """Whether this message approves the call, or what the person is told instead. `also`: what else it would allow."""
        if message.where != "chat":
            return ChatAnswer(counts=True, text=message.why)
        to = Showing(message.chat, message.by, message.lasts)
        word, _, reason = message.why.partition(" ")
        outcome = self._codes.check(to, entry, word, now) if confirmation_codes.is_code(word) else "none"
        if outcome == "right":
            return ChatAnswer(counts=True, text=reason)
        if outcome != "none":
            return ChatAnswer(counts=False, text=replies.not_confirmed(entry, outcome, message.lasts))
        if self._codes.is_known(message.chat, entry):
            return ChatAnswer(counts=True, text=message.why)
        return ChatAnswer(counts=False, text=self._shown(to, entry, now, also), ok=True)

    def _shown(self, to: Showing, entry: HeldCall, now: float, also: str) -> str:
        view = chat_view.view(entry, call_preview.views([entry], now)[0], now)
        lines = chat_view.literal([*view.lines, *([f"also   {also}"] if also else [])])
        if not view.enough:
            return "\n".join([*lines, replies.too_long_for_chat(entry)])
        if not view.whole:
            lines.append(replies.folded_for_chat(entry))
        code = self._codes.issue(to, entry, "\n".join(lines), now)
        return "\n".join([*lines, *replies.to_confirm(entry, code, confirmation_codes.LASTS, to.lasts)])

    def pending(self, message: PersonDecision, entries: list[HeldCall], now: float, *, offers: bool) -> list[str]:
        """The calls that wait with what they would do, and what expired. `offers`: also how to allow a call for a while.

        What a program may have asked to see is not shown to a person: see `approvals.chat_senders`.
        """
        calls = replies.waiting(entries, now)[:MAX_IN_FULL]
        asked = list(zip(calls, call_preview.views(calls, now), strict=True))
        lines: list[str] = []
        for (entry, _), view in zip(asked, chat_view.several(asked, now), strict=True):
            lines += view.lines
            if view.whole and chat_senders.in_doubt(message.peers, entry.created, message.carriers) is None:
                self._codes.was_shown(message.chat, entry)
            if offers and len(calls) == 1:
                lines += _offer(entry)
        rest = replies.pending_lines([held for held in entries if held not in calls], now) if lines else []
        more = rest if len(replies.waiting(entries, now)) > len(calls) else []
        listed = [*lines, *more, *replies.missed_lines(entries, now), *replies.undo_lines(entries, now, self.undo)]
        return [*([] if lines else replies.pending_lines(entries, now)), *(chat_view.literal(listed) if listed else [])]


def _offer(entry: HeldCall) -> Iterable[str]:
    narrow = repeatable_calls.narrow_grant(entry)
    if narrow.grant and entry.status == "pending":
        yield f"/toolguard approve {entry.nonce} --for {repeatable_calls.OFFERED} also allows {narrow.scope}"
    alike = session_grant.offer(entry)
    if alike.grant and entry.status == "pending":
        yield f"/toolguard approve {entry.nonce} --session also allows {alike.scope}"
