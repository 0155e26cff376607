"""The texts of notifications. Everything that comes from a call is hostile: redacted, bounded, and without effect as markup,
as a mention or as a link, which some services would fetch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from toolguard_engine.approvals import held_text
from toolguard_engine.approvals.held_view import HeldView
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.model import held_details
from toolguard_engine.stores.audit_log import when
from toolguard_engine.stores.audit_tail import AuditLine
from toolguard_engine.stores.notifications import Notification
from toolguard_engine.wording import approval, printable, redact

MAX_CALL = 700
MAX_LINE = 200
MAX_SCANNED = 2 * approval.MAX_CALL
MAX_EFFECTS = MAX_RULES = held_details.MAX_EFFECTS + held_details.MAX_RULES
MAX_EVENTS = 20
"""In one summary."""

_ASKING = ("held", "expiring")
"""They are never what a summary leaves out."""

_NONCE = re.compile("[0-9a-f]{8,64}")
_BREAK = "\u200b"
_ACTIVE = re.compile(r"[@<\]~|#]|:(?=//)|(?<=\w)\.(?=\w)")
_EMPHASIS = str.maketrans({"*": "\u2217", "`": "\u02cb"})
_OUTER_LINE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")


@dataclass(frozen=True)
class MessageText:
    """`title` contains nothing that comes from a call. `data`: for programs."""

    title: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)


def inert(text: str) -> str:
    """Reads the same and means nothing to a chat: no mention, link, tag or emphasis, and nothing hidden by one."""
    return _ACTIVE.sub(lambda match: match[0] + _BREAK, _OUTER_LINE.sub("\uff3f", text.translate(_EMPHASIS)))


def clean(text: str, limit: int = MAX_LINE) -> str:
    """One line of a call: no secret, printable, bounded; of a longer one its two ends."""
    return approval.ends(printable.plain(redact.redact_text(text, scanned=MAX_SCANNED)), limit)


def held(entry: HeldCall, view: HeldView) -> MessageText:
    """A call waits for approval."""
    lines = [
        f"Agent {inert(clean(entry.agent) or '-')} is waiting for approval until {_time(entry.expires)}:",
        *([f"Held: {inert(clean(view.why))}"] if view.why else []),
        *(f"New: {inert(clean(line))}" for line in view.changes),
        f"{view.title}:",
        *(f"- {inert(clean(text))}" for text in held_text.dangers(view, MAX_LINE)),
        *([f"Also {inert(clean('; '.join(view.also)))}"] if view.also else []),
        f"Call of {inert(clean(entry.tool))}:",
        *(f"| {inert(line)}" for line in clean_lines(held_text.code(view), MAX_CALL)),
        *(["Not all of the call is shown here."] if not view.complete or len(held_text.code(view)) > MAX_CALL else []),
        *([f"Folder: {inert(clean(entry.cwd))}"] if entry.cwd else []),
        f"Approve: toolguard approve {entry.nonce} (in chat: /toolguard approve {entry.nonce})",
        f"Deny: toolguard deny {entry.nonce}",
    ]
    return MessageText(f"A call is waiting for approval ({entry.nonce})", "\n".join(lines), _call(entry, view))


def clean_lines(text: str, limit: int) -> list[str]:
    """The same as `clean` for code, which keeps its lines."""
    shown = approval.ends(redact.redact_text(text, scanned=MAX_SCANNED), limit)
    return [printable.plain(line) for line in shown.split("\n")]


def expiring(entry: HeldCall, view: HeldView) -> MessageText:
    """The same call, shortly before it expires."""
    first = held(entry, view)
    agent = inert(clean(entry.agent) or "-")
    head = f"Agent {agent} is still waiting; the call expires unanswered at {_time(entry.expires)}:"
    text = "\n".join([head, *first.text.split("\n")[1:]])
    return MessageText(f"A call is still waiting for approval ({entry.nonce})", text, first.data)


def _call(entry: HeldCall, view: HeldView) -> dict[str, Any]:
    effects = [*held_text.dangers(view, MAX_LINE), *view.also]
    rules = [why for danger in view.dangers for why in danger.why] or [entry.reason]
    return {
        "nonce": entry.nonce,
        "tool": clean(entry.tool),
        "agent": clean(entry.agent),
        "session": clean(entry.session),
        "code": entry.code,
        "reason": clean(entry.reason),
        "call": clean(entry.shown, MAX_CALL),
        "whole": entry.whole and len(entry.shown) <= MAX_CALL,
        "folder": clean(entry.cwd),
        "dangers": view.title,
        "effects": [clean(effect) for effect in effects[:MAX_EFFECTS]],
        "rules": [clean(rule) for rule in rules[:MAX_RULES]],
        "expires": when(entry.expires),
        "approve": f"toolguard approve {entry.nonce}",
        "deny": f"toolguard deny {entry.nonce}",
    }


_TITLES = {
    "expired": "A held call expired unanswered",
    "lapsed": "An approval lapsed: its call did not run",
    "blocked": "A call was blocked",
    "loop": "A loop was ended",
    "budget": "An agent's budget or limit was reached",
    "engineAway": "The guard did not answer for a while",
    "weakened": "The settings are weaker than before",
    "guardEnded": "The guard has stopped",
}


def logged(event: str, line: AuditLine) -> MessageText:
    """An event that the audit log records."""
    title = _TITLES[event] + (f" ({line.nonce})" if _NONCE.fullmatch(line.nonce) else "")
    facts = {
        "agent": clean(line.agent),
        "code": clean(line.code),
        "reason": clean(line.reason or line.why),
        "call": clean(line.shown, MAX_CALL),
    }
    agent = f"Agent {inert(facts['agent'])}. " if facts["agent"] else ""
    reason = f"{inert(facts['reason'])} ({inert(facts['code'])})" if facts["reason"] else inert(facts["code"])
    text = "\n".join(filter(None, [f"{agent}{reason}", inert(facts["call"]), _next_step(event, line.nonce)]))
    return MessageText(title, text, {name: value for name, value in facts.items() if value})


def _next_step(event: str, nonce: str) -> str:
    again = f": toolguard revive {nonce}" if _NONCE.fullmatch(nonce) else ""
    return {
        "expired": f"It did not run. If it is still wanted, ask the agent to try it again{again}",
        "lapsed": f"The agent did not make the call in time. To ask it again{again}",
        "weakened": "If this was not you: toolguard doctor. To accept it: toolguard config accept",
        "guardEnded": "Check with: toolguard doctor",
    }.get(event, "Details: toolguard audit show")


def away(since: float) -> MessageText:
    text = (
        f"The guard's engine has not been running since {_time(since)}. Meanwhile, failMode decides what "
        "happens to calls. Check with: toolguard doctor"
    )
    return MessageText("The guard's engine is not running", text, {"since": when(since)})


def digest(counts: dict[str, int], since: float, until: float) -> MessageText:
    """`counts`: audit lines by event."""
    rows = [f"{words}: {counts[event]}" for event, words in _COUNTED.items() if counts.get(event)]
    text = "\n".join(
        [f"From {_time(since, day=True)} to {_time(until, day=True)}:", *(rows or ["Nothing was held or blocked."])]
    )
    return MessageText(
        "Daily digest", text, {"since": when(since), "counts": {name: counts.get(name, 0) for name in _COUNTED}}
    )


_COUNTED = {
    "hold": "calls held",
    "approve": "approved",
    "deny": "denied",
    "expire": "expired",
    "lapsed": "approvals lapsed",
    "block": "blocked",
    "stop": "runs ended",
    "weakened": "settings weakened",
}


def undelivered(lost: Sequence[Notification]) -> MessageText:
    """What this target did not get."""
    rows = [f"- {_time(one.created, day=True)} {one.title}" for one in lost[:MAX_EVENTS]]
    more = [f"and {len(lost) - MAX_EVENTS} more"] if len(lost) > MAX_EVENTS else []
    title = "A notification was not delivered" if len(lost) == 1 else f"{len(lost)} notifications were not delivered"
    return MessageText(
        title, "\n".join([*rows, *more, "Details: toolguard notify status"]), {"lost": [one.id for one in lost]}
    )


def test(target: str) -> MessageText:
    return MessageText("Test", f"This is a test of the notification target {target}.", {"target": target})


def summary(batch: Sequence[Notification]) -> MessageText:
    """Several events in one message."""
    rows = [_row(one) for one in sorted(batch, key=lambda one: one.event not in _ASKING)[:MAX_EVENTS]]
    more = [f"and {len(batch) - MAX_EVENTS} more"] if len(batch) > MAX_EVENTS else []
    held_calls = ["All waiting calls: toolguard pending"] if any(one.event == "held" for one in batch) else []
    text = "\n".join([*rows, *more, *held_calls])
    return MessageText(f"{len(batch)} events", text, {"events": [public(one) for one in batch]})


def _row(one: Notification) -> str:
    call = str(one.data.get("call") or one.data.get("reason") or "")
    return f"- {one.title}{f': {inert(clean(call, 120))}' if call else ''}"


def public(one: Notification) -> dict[str, Any]:
    """Returns the message for programs."""
    repeats = {"repeats": one.repeats} if one.repeats else {}
    return {"id": one.id, "event": one.event, "time": when(one.created), "title": one.title, **repeats, **one.data}


def message(batch: Sequence[Notification], gateway: str, link: str | None = None) -> tuple[str, str, dict[str, Any]]:
    """The title, text and data of one message. `link`: a page that answers the held call that it is about."""
    if len(batch) > 1:
        several = summary(batch)
        title, text, facts = several.title, several.text, {"event": "summary", **several.data}
    else:
        (one,) = batch
        title, text, facts = one.title, one.text, public(one)
        if one.repeats:
            text += f"\nThis happened {one.repeats} more time{'' if one.repeats == 1 else 's'}."
    if link:
        text, facts = f"{text}\nAnswer here (works once): {link}", {**facts, "link": link}
    name = re.sub(r"[^A-Za-z0-9 ._-]", "?", gateway)[:60]
    return f"toolguard{f' on {name}' if name else ''}: {title}", text, {"v": 1, "gateway": name, **facts, "text": text}


def _time(at: float, *, day: bool = False) -> str:
    local = datetime.fromtimestamp(at).astimezone()
    return f"{local:%Y-%m-%d %H:%M}" if day else f"{local:%H:%M:%S %Z}"
