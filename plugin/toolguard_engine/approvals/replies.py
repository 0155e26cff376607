"""What a person reads about held calls, in the terminal and in chat: plain text, printable, one line each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from math import ceil

from msgspec import Struct, structs

from toolguard_engine.approvals.ledger import (
    LAPSED,
    MAX_APPROVED,
    MIN_PREFIX,
    OPEN,
    REVIVED,
    UNPROVEN,
    HeldCall,
    Ledger,
    RefusedError,
    Woken,
    call_of,
    is_lapsed,
    is_missed,
    latest_end,
    may_be_revived,
)
from toolguard_engine.wording.printable import cut, duration, moment, plain

SESSION = "session"
"""The period of an answer for the rest of a session: see `session_grant`."""

MAX_MATCHES = 5
MAX_LINES = 50
MAX_UNDONE = 5
"""Calls that ran, for which it is looked up whether they can be undone."""
HOUR, DAY = 3_600.0, 86_400.0
WIDTH = 120
"""Characters of a line about one call."""

LOOK = "toolguard pending (in chat: /toolguard pending) lists the waiting calls"
AGAIN = "if it is still needed, tell the agent to try again: the call gets a new nonce"

GO_ON = "tell the agent to continue if it does not do so on its own"
NOT_LAPSED = "held calls that waited for it could not be closed; toolguard doctor shows why"


class Answer(Struct, frozen=True):
    """What is the matter, in one line, and the next step."""

    text: str
    fix: str


def explain(refused: RefusedError, undo: str = "") -> Answer:
    """Why this nonce cannot be decided on; a different answer for each cause. `undo`: how to undo the call if it has run."""
    entry = refused.entry
    if entry is None:
        return _about_prefix(refused)
    if refused.cause == "unseen":
        return Answer(
            f"{entry.nonce} ({_name(entry)}) cannot be shown in full, and an approval covers all of it",
            f"tell the agent to put it into a file that you can read, or run toolguard approve {entry.nonce} --unseen",
        )
    if refused.cause == "again":
        state = "waits again" if entry.status == "pending" else f"is {entry.status}"
        return Answer(f"the same call {state} under {entry.nonce}", LOOK)
    if entry.status == "expired" and entry.why == REVIVED:
        return Answer(f"{entry.nonce} ({_name(entry)}) was revived at {_when(entry.decided)}", GO_ON)
    if entry.status == "expired" and entry.why == LAPSED:
        return Answer(f"{entry.nonce} ({_name(entry)}) has not been waiting since {_when(entry.decided)}: {LAPSED}", GO_ON)
    if entry.status == "expired" and entry.why.startswith(UNPROVEN):
        text = f"{entry.nonce} ({_name(entry)}) was closed at {_when(entry.decided)}: {cut(entry.why, WIDTH)}"
        return Answer(text, AGAIN)
    if entry.status == "expired" and not is_missed(entry):
        by = f" by {cut(entry.by, 60)}" if entry.by else ""
        return Answer(
            f"{entry.nonce} ({_name(entry)}) was approved{by}, but did not run before {_when(entry.decided)}",
            _revive(entry),
        )
    if entry.status == "expired":
        return Answer(
            f"{entry.nonce} ({_name(entry)}) expired at {_when(entry.decided)}: nobody decided in time",
            _revive(entry),
        )
    if entry.status == "pending":
        return Answer(f"{entry.nonce} ({_name(entry)}) is still waiting for approval", f"toolguard approve {entry.nonce}")
    if entry.status == "used":
        return Answer(
            f"{entry.nonce} ({_name(entry)}) was used at {_when(entry.decided)}: an approval covers one call",
            f"{undo}; {AGAIN}" if undo else AGAIN,
        )
    if entry.status == "denied":
        return Answer(
            f"{entry.nonce} ({_name(entry)}) was denied{_by_whom(entry)}",
            f"a denial cannot be changed; after {_when(entry.expires)} the agent may ask again, under a new nonce",
        )
    return Answer(
        f"{entry.nonce} ({_name(entry)}) is already approved{_by_whom(entry)}",
        f"tell the agent to repeat the call before {_when(entry.expires)}; toolguard deny {entry.nonce} withdraws it",
    )


def needs_signature(nonce: str) -> Answer:
    """Why a yes from here cannot count, where the settings name signers."""
    named = cut(plain(nonce), 20)
    return Answer(
        f"{named} was not approved: approvals need a signature here (approval.signers)",
        f"run toolguard approve {named} in a terminal, which signs it with your SSH key",
    )


def needs_fleet_login(nonce: str, *, action: str = "approve") -> Answer:
    """The same in a fleet, where a person approves or revives with the own login to its database."""
    named, done = cut(plain(nonce), 20), "revived" if action == "revive" else "approved"
    needed = "your own login" if action == "revive" else "your own login and the signature of a signer in fleet.trust"
    return Answer(
        f"{named} was not {done}: in a fleet that needs {needed}",
        f"run toolguard {action} {named} in a terminal, as yourself",
    )


def _about_prefix(refused: RefusedError) -> Answer:
    if refused.cause == "malformed":
        return Answer(
            "that is not a nonce",
            f"a nonce has 8 characters, 0-9 and a-f; the first {MIN_PREFIX} or more are enough; {LOOK}",
        )
    if refused.cause == "ambiguous":
        more = len(refused.matches) - MAX_MATCHES
        shown = ", ".join(refused.matches[:MAX_MATCHES]) + (f" and {more} more" if more > 0 else "")
        return Answer(
            f"{len(refused.matches)} calls start with that: {shown}", f"give more characters of the one you mean; {LOOK}"
        )
    return Answer("no call has that nonce", f"it was mistyped, or the call was closed long ago; {LOOK}")


def approved(entry: HeldCall, window_seconds: float) -> str:
    """What a yes means."""
    return f"approved {entry.nonce}: {_who(entry)} may run {_name(entry)} once{_lasting(entry, window_seconds)}"


def _lasting(entry: HeldCall, window_seconds: float) -> str:
    if window_seconds >= MAX_APPROVED:
        return f", until {_when(entry.expires)}"
    return f" within {_seconds(window_seconds)} of idle time (10 min at most)"


def reaches(entry: HeldCall, asleep: str = "", command: str = "toolguard", undo: str = "") -> str:
    """What the agent knows of its approval. `asleep`: why it could not be woken, if the entry does not say that; `command`:
    how a person calls toolguard there; `undo`: how to undo it if it has run."""
    withdraw = f"until the call has run, {command} deny {entry.nonce} withdraws the approval"
    if entry.status == "used":
        return f"the agent has repeated the call{undo and f'; {undo}'}"
    if entry.status != "approved":
        return f"{entry.nonce} is {entry.status} by now"
    if entry.woken == "woken":
        return f"the agent is resumed; {withdraw}"
    if entry.woken == "told":
        return f"the agent's next run has begun; {withdraw}"
    if entry.woken == "busy":
        return f"the agent is at work, and is told when its turn ends; {withdraw}"
    if asleep or entry.woken == "later":
        why = asleep or f"the agent could not be woken ({cut(plain(entry.asleep), WIDTH) or 'no reason given'})"
        late = f"if that begins after {_when(entry.expires)}, {command} revive {entry.nonce} asks again"
        return f"{why}: it is told at its next run; {late}"
    return f"it is not known yet whether the agent was woken; if it does not continue, tell it to; {withdraw}"


def waking(entry: HeldCall) -> dict[str, str]:
    """The same for chat, which knows what became of waking the agent before the engine does: by each outcome, with
    `{why}` for why the agent could not be woken."""
    outcomes: tuple[Woken, ...] = ("woken", "busy", "later")
    at_most = structs.replace(entry, expires=latest_end(entry), asleep="{why}")
    return {outcome: reaches(structs.replace(at_most, woken=outcome), command="/toolguard") for outcome in outcomes}


def not_woken(entry: HeldCall) -> str:
    """The same, where the settings say that nobody is woken."""
    why = "agents are not woken here (approval.wake)"
    return f"{why}; tell the agent to continue; toolguard deny {entry.nonce} withdraws the approval"


def to_confirm(entry: HeldCall, code: str, lasts: float, period: str = "") -> list[str]:
    """How to approve a call that chat has just shown, and how to refuse it."""
    answer = f"/toolguard approve {entry.nonce} {code}{_for(period)}"
    return [
        f"Nothing is approved yet. If this is what you want, answer within {duration(lasts)}: {answer}",
        f"If not: /toolguard deny {entry.nonce}",
    ]


def not_confirmed(entry: HeldCall, outcome: str, period: str = "") -> str:
    """Why a code in chat approves nothing. `outcome`: see `confirmation_codes.Outcome`."""
    again = f"/toolguard approve {entry.nonce}{_for(period)} shows the call again, with a new code."
    step = _ELSEWHERE.format(entry.nonce) if outcome == "limited" else again
    return f"Nothing was approved: {_NOT_CONFIRMED[outcome]}\n{step}"


_NOT_CONFIRMED = {
    "wrong": "that is not the code below the call.\nType the code that was shown with this call, or let it be shown again.",
    "other": "that is the code of another call, or of another way to approve this one.",
    "voided": "that is not the code, and after too many wrong ones the right one counts no more.",
    "late": "the code has lapsed.",
    "changed": "what waits under this nonce has changed since it was shown.",
    "limited": "too many wrong codes came from this chat.",
}
_ELSEWHERE = "Run `toolguard approve {}` in a terminal, or answer on the dashboard."


def folded_for_chat(entry: HeldCall) -> str:
    return f"The call is too long for a message; `toolguard approve {entry.nonce}` in a terminal shows all of it first."


def too_long_for_chat(entry: HeldCall) -> str:
    """The dangers of a call do not fit into a message."""
    where = _ELSEWHERE.format(entry.nonce)
    why = "Nothing was approved: this call is too long to show here what matters of it."
    return f"{why}\n{where} To refuse it: /toolguard deny {entry.nonce}"


def _for(period: str) -> str:
    if period == SESSION:
        return f" --{SESSION}"
    return f" --for {cut(period, 20)}" if period else ""


def lapsed(entries: list[HeldCall]) -> str:
    """What a checkpoint made of held calls; empty where none waited for one."""
    if not entries:
        return ""
    one = len(entries) == 1
    return f"{len(entries)} held call{'' if one else 's'} {'is' if one else 'are'} no longer waiting: {GO_ON}"


def denied(entry: HeldCall) -> str:
    """What a no means."""
    return f"denied {entry.nonce}: {_who(entry)} is instructed not to try {_name(entry)} again"


def refused(entry: HeldCall, *, taken_back: bool) -> str:
    """What a no in the terminal means; `taken_back`: the call was approved, and had not run yet."""
    if taken_back:
        return (
            f"withdrew the approval of {entry.nonce} before it was used: the call did not run; "
            "the agent is instructed not to repeat this call"
        )
    return f"denied {entry.nonce}: the agent is instructed not to repeat this call"


def too_late(entry: HeldCall) -> Answer:
    """A no to a call that ran already."""
    return Answer(f"too late: {entry.nonce} ran at {_when(entry.decided)}", f"toolguard audit show --nonce {entry.nonce}")


def waiting(entries: Iterable[HeldCall], now: float) -> list[HeldCall]:
    """Those that a person can still decide on, or that are approved and not used yet; the oldest first."""
    return sorted((e for e in entries if e.status in OPEN and now < e.expires), key=lambda e: (e.created, e.nonce))


def missed(entries: Iterable[HeldCall], now: float, seconds: float = math.inf) -> list[HeldCall]:
    """Those that nobody answered in the last `seconds`, and approvals that lapsed then, whose call was not held again since;
    the latest first."""
    latest = {call_of(entry): entry for entry in sorted(now_known(entries, now).entries, key=lambda e: (e.created, e.nonce))}
    calls = [e for e in latest.values() if may_be_revived(e) and now < e.expires + seconds]
    return sorted(calls, key=lambda e: (-e.expires, e.nonce))


def missed_lines(entries: Iterable[HeldCall], now: float) -> list[str]:
    """Returns the lines for chat about the calls that nobody answered in the last day, approvals that lapsed then, and how
    to revive one."""
    calls = missed(entries, now, DAY)
    lines = [f"{became(e)}: {cut(f'{e.nonce}  {_name(e)}  {plain(e.shown)}', WIDTH)}" for e in calls[:MAX_MATCHES]]
    more = [f"... and {len(calls) - MAX_MATCHES} more"] if len(calls) > MAX_MATCHES else []
    return [*lines, *more, *(["/toolguard revive <nonce> asks the agent to make the call again"] if calls else [])]


def undo_lines(entries: Iterable[HeldCall], now: float, offer: Callable[[str], str]) -> list[str]:
    """Returns the lines for chat about the calls that ran in the last hour and can be undone, the latest first. `offer`: how
    to undo the call of a nonce; empty if that is not possible."""
    ran = sorted((e for e in entries if e.status == "used" and now < e.decided + HOUR), key=lambda e: (-e.decided, e.nonce))
    calls = [(entry, undo) for entry in ran[:MAX_UNDONE] if (undo := offer(entry.nonce))]
    return [f"ran: {cut(f'{e.nonce}  {_name(e)}  {plain(e.shown)}', WIDTH)}; {undo}" for e, undo in calls]


def became(entry: HeldCall) -> str:
    """What became of a call that may be revived."""
    return "approved, but did not run" if is_lapsed(entry) else "expired unanswered"


def now_known(entries: Iterable[HeldCall], now: float) -> Ledger:
    """The ledger with expired entries closed."""
    ledger = Ledger(entries)
    ledger.sweep(now)
    return ledger


def revived(entry: HeldCall) -> str:
    """What reviving a call means."""
    return f"revived {entry.nonce}: {_who(entry)} is asked to make the call again, which is then held again"


def pending_lines(entries: Iterable[HeldCall], now: float, width: int = WIDTH) -> list[str]:
    """One line for each waiting call: nonce, tool, time left, agent, the call; a line that says so where none waits."""
    calls = waiting(entries, now)
    if not calls:
        return ["no call is waiting"]
    more = [f"... and {len(calls) - MAX_LINES} more"] if len(calls) > MAX_LINES else []
    return [*(pending_line(entry, now, width) for entry in calls[:MAX_LINES]), *more]


def pending_line(entry: HeldCall, now: float, width: int = WIDTH) -> str:
    return cut(_line(entry, now), width)


def _line(entry: HeldCall, now: float) -> str:
    return f"{brief(entry, now)}  {plain(entry.shown)}"


def brief(entry: HeldCall, now: float) -> str:
    """Which call it is, how it stands and whose it is."""
    return f"{entry.nonce}  {_name(entry)}  {state(entry, now)}  {cut(entry.agent, 30) or '-'}"


def state(entry: HeldCall, now: float) -> str:
    """How an entry stands: `4m10s left`, `approved, 20s left`, or what became of it."""
    if entry.status in OPEN and now >= entry.expires:
        return "expired"
    left = f"{duration(ceil(entry.expires - now))} left"
    note = "agent is told at its next run, " if entry.woken == "later" else ""
    return {"pending": left, "approved": f"approved, {note}{left}"}.get(entry.status, entry.status)


def _revive(entry: HeldCall) -> str:
    return f"toolguard revive {entry.nonce} asks the agent to make the call again, under a new nonce"


def _name(entry: HeldCall) -> str:
    return cut(entry.tool, 40)


def _who(entry: HeldCall) -> str:
    return f"agent {cut(entry.agent, 40)}" if entry.agent else "the agent"


def _by_whom(entry: HeldCall) -> str:
    by = f" by {cut(entry.by, 60)}" if entry.by else ""
    where = f" ({cut(entry.where, 20)})" if entry.where else ""
    why = f": {cut(entry.why, WIDTH)}" if entry.why else ""
    return f"{by}{where} at {_when(entry.decided)}{why}"


def _when(seconds: float) -> str:
    return moment(seconds)


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else duration(seconds)  # noqa: PLR2004 - two minutes
