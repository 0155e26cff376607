"""The ledger of held calls: pending, approved, denied, used, expired. Pure; `stores.files.nonces` keeps it on disk.

The rules for each binding (one call of one agent in one session):

- a held call is entered once as `pending` under its nonce; while it waits, the same call finds the same nonce;
- a person turns `pending` into `approved` or `denied`; `approved` becomes `used` by exactly one call;
- `pending` and `approved` become `expired` when their time is over; a denial lasts as long as the call would have waited, at
  most `MAX_DENIAL`;
- an engine moves the end of an approval (`move_end`), as `approval_window` says, and never beyond `latest_end`;
- what is closed (`used`, `denied`, `expired`) never opens again and is remembered for a while, to say what became of it;
- a call that expired unanswered, or whose approval lapsed, can be revived once: its agent may make it again, and it is then
  held again. If it is approved at the same time, that is an entry of its own, under another nonce.

All times are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Literal

import msgspec
from msgspec import structs

from toolguard_engine.approvals import call_meaning
from toolguard_engine.approvals.binding import bind_meaning
from toolguard_engine.approvals.call_meaning import Meaning
from toolguard_engine.model.held_details import ExactCall, HeldDetails
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.model.tool_use import ToolUse

Status = Literal["pending", "approved", "used", "denied", "expired"]
OPEN: frozenset[Status] = frozenset({"pending", "approved"})

MIN_PREFIX = 4
MAX_OPEN = 1_000
MAX_OPEN_OF_SESSION = 100
MAX_CLOSED = 1_000
MAX_CLOSED_SHOWN = 200
MAX_MISSED = 200
MAX_MISSED_SHOWN = 1_000
REMEMBERED = 24 * 3600.0
"""Seconds for which a closed nonce is still known."""

MISSED_REMEMBERED = 7 * REMEMBERED
"""The same for a call that nobody answered."""

MAX_DENIAL = 600.0
"""Seconds; a call may wait for hours, but a denial is not meant for as long."""

SKEW = 5.0
"""Seconds that the clock may step back without making an approval invalid."""

MAX_APPROVED = 600.0
"""Seconds after which an approval is over, whatever its agent does."""

Woken = Literal["", "woken", "busy", "later", "told"]
"""What became of waking the agent for an approval: not known (yet); the gateway has accepted it; a run is in progress, and
it is told when that ends; it cannot be woken, and is told at its next run; that run has begun."""


LAPSED = "a checkpoint was made: the agent may try the call again"
"""Why an entry is over that `Ledger.lapse` closed."""

NATIVE = "native"
"""Where a decision was made in the gateway's own prompt."""

REVIVED = "revived: the agent may make the call again"
"""Why an entry is over that `Ledger.revive` was called for."""


REISSUED = "reissued: "
"""How the reason of an approval begins that is there again, since its call did not run."""


UNPROVEN = "its approval is not valid: "
"""How the reason of an entry begins that `Ledger.refuse` closed."""

UNSIGNED = "it is not signed"
"""The rest, of an approval that has no signature at all where the settings name signers."""


class HeldCall(msgspec.Struct, frozen=True, gc=False):
    """One held call. `expires`: the end of waiting, of the approval's window, or of the denial. `mac`: see `nonces`.

    `shown`: the call for the person who decides, `whole`: and that is all of it; `cwd`: where it would run; `details`: what
    it would do; `exact`: what a grant for just this call says, None where there is none; `requester`: who asked the agent,
    as the gateway's channel names them; `signatures`: of those who approved it, where the settings name signers; `latest`:
    when its approval is over at the latest, 0 from versions that did not know; `woken`, `asleep`: whether the agent was
    woken for the approval, and why not; `meaning`: what the call means beyond its words, None in entries of
    earlier versions; `changes`: what it would do that it would not have done when it was held before, one line each; `use`:
    of a tool that the gateway does not come with, as it described itself when the call was held.
    """

    nonce: str
    binding: str
    tool: str
    agent: str
    session: str
    run: str
    code: str
    reason: str
    shown: str
    created: float
    expires: float
    status: Status = "pending"
    decided: float = 0.0
    by: str = ""
    where: str = ""
    why: str = ""
    whole: bool = True
    cwd: str = ""
    details: HeldDetails | None = None
    exact: ExactCall | None = None
    requester: str = ""
    signatures: tuple[SignedBody, ...] = ()
    latest: float = 0.0
    woken: Woken = ""
    asleep: str = ""
    meaning: Meaning | None = None
    changes: tuple[str, ...] = ()
    use: ToolUse | None = None
    mac: str = ""


class Decision(msgspec.Struct, frozen=True):
    """A person's yes or no: who, where (`cli`, `chat`, `native`, `tool`, `dashboard`, `link`), why."""

    by: str
    where: str
    why: str = ""


class RefusedError(Exception):
    """A nonce that cannot be decided on. `cause` is stable: malformed, unknown, ambiguous, unseen, again (the same call was
    held again since, as `entry`), or the status."""

    def __init__(self, cause: str, entry: HeldCall | None = None, matches: tuple[str, ...] = ()) -> None:
        super().__init__(cause)
        self.cause = cause
        self.entry = entry
        self.matches = matches


class TooManyHeldError(Exception):
    """More calls wait than one person can look at: no more are entered."""


class Ledger:
    """All entries by nonce. `changed` collects those that are new or differ from what was loaded, `moved` those of which
    only the end did, `forged` those that `trusted` refused: each entry is asked about before anything is concluded from it,
    and a refused one is dropped."""

    def __init__(self, entries: Iterable[HeldCall] = (), trusted: Callable[[HeldCall], bool] = lambda entry: True) -> None:  # noqa: ARG005
        self._entries = {entry.nonce: entry for entry in entries}
        self._trusted = trusted
        self.changed: list[HeldCall] = []
        self.moved: list[HeldCall] = []
        self.forged: list[HeldCall] = []
        self.dropped = False

    @property
    def entries(self) -> list[HeldCall]:
        return list(self._entries.values())

    def open_entries(self) -> list[HeldCall]:
        return [entry for entry in self._entries.values() if entry.status in OPEN]

    def sweep(self, now: float) -> None:
        """Closes what is over and forgets what was closed long ago."""
        closed = []
        for entry in self.entries:
            if entry.status not in OPEN:
                closed.append(entry)
            elif (now >= entry.expires or _from_the_future(entry, now)) and self._holds(entry):
                closed.append(self._put(_closed(entry, "expired", now)))
        kept = _remembered(closed, now)
        if len(kept) < len(closed):
            self.dropped = True
            self._entries = {entry.nonce: entry for entry in [*self.open_entries(), *kept]}

    def check(self) -> None:
        """Drops every entry that is not trusted."""
        for entry in self.entries:
            self._holds(entry)

    def waiting(
        self, binding: str, now: float, former: Collection[str] = (), meaning: Meaning | None = None
    ) -> HeldCall | None:
        """The entry that answers for this call now: pending, approved, or else a denial that still lasts. `former`: what
        earlier versions bound the call to."""
        bindings = {binding, *former}
        meant = (e for e in self._entries.values() if e.binding in bindings or _means(e, meaning))
        calls = [entry for entry in meant if _answers(entry, now) and not _is_blind(entry, meaning)]
        return next((entry for entry in sorted(calls, key=_rank) if self._holds(entry)), None)

    def compared(self, entry: HeldCall, home: str = "") -> HeldCall:
        """The entry with what its call would do that it would not have done when a person saw it last. `changes` that it has
        already are about a grant."""
        meaning = entry.meaning
        if entry.changes:
            return structs.replace(entry, reason=f"It goes {_in_short(entry.changes)} {entry.reason}")
        if meaning is None:
            return entry
        same = [known for known in self.entries if known.meaning is not None and known.meaning.call == meaning.call]
        for known in sorted(same, key=lambda known: known.created, reverse=True):
            if self._holds(known) and known.meaning is not None:
                changes = tuple(call_meaning.more(known.meaning, meaning, home))
                if not changes:
                    return entry
                reason = f"Not as it was shown under {known.nonce}: {_in_short(changes)} {entry.reason}"
                return structs.replace(entry, changes=changes, reason=reason)
        return entry

    def enter(self, entry: HeldCall) -> HeldCall:
        """A new held call. Raises `Full`."""
        waiting = self.open_entries()
        if len(waiting) >= MAX_OPEN or sum(known.session == entry.session for known in waiting) >= MAX_OPEN_OF_SESSION:
            raise TooManyHeldError
        self._put(entry)
        return entry

    def use(self, entry: HeldCall, now: float) -> HeldCall:
        """The approved call runs, this once."""
        return self._put(_closed(entry, "used", now))

    def give_back(self, used: HeldCall, nonce: str, now: float) -> HeldCall | None:
        """The approval that `used` was, again, since its call did not run: under `nonce`, or for the same call if that waits
        already. None where its time is over, or a person has decided on that call since."""
        known = self.waiting(used.binding, now, meaning=used.meaning)
        if now >= used.expires or (known and known.status != "pending"):
            return None
        if known and known.binding != used.binding:
            known = None  # the same words that mean more wait: that is not what was approved
        decision = Decision(used.by, used.where, f"{REISSUED}{used.nonce} was used up, but its call did not run")
        waiting = structs.replace(known or used, nonce=known.nonce if known else nonce, latest=latest_end(used))
        waiting = waiting if known else structs.replace(waiting, created=now)
        return self._decide(waiting, "approved", decision, now, used.expires)

    def move_end(self, nonce: str, expires: float, woken: Woken, asleep: str = "") -> HeldCall | None:
        """The approval ends then, or at its latest. None where there is no such approval."""
        entry = self._entries.get(nonce)
        if entry is None or entry.status != "approved" or not self._holds(entry):
            return None
        moved = structs.replace(entry, expires=min(expires, latest_end(entry)), woken=woken, asleep=asleep)
        self._entries[nonce] = moved
        self.moved.append(moved)
        return moved

    def find(self, prefix: str) -> HeldCall:
        """The one entry that a person means; those that can be decided on come first. Raises `Refused`."""
        wanted = prefix.strip().lower()
        if len(wanted) < MIN_PREFIX or not set(wanted) <= set("0123456789abcdef"):
            raise RefusedError("malformed")
        calls = [entry for entry in self.entries if entry.nonce.startswith(wanted) and self._holds(entry)]
        candidates = [e for e in calls if e.status == "pending"] or [e for e in calls if e.status == "approved"] or calls
        if not candidates:
            raise RefusedError("unknown")
        if len(candidates) > 1:
            raise RefusedError("ambiguous", matches=tuple(sorted(entry.nonce for entry in candidates)))
        return candidates[0]

    def refuse(self, entry: HeldCall, why: str, now: float) -> HeldCall:
        """Closes an entry that does not prove what it says: the same call is held again."""
        over = _closed(structs.replace(entry, by="", where="", why=f"{UNPROVEN}{why}"), "expired", now)
        return self._put(structs.replace(over, signatures=()))

    def approve(
        self,
        prefix: str,
        decision: Decision,
        now: float,
        window: float,
        *,
        unseen: bool = False,
        signatures: tuple[SignedBody, ...] = (),
    ) -> HeldCall:
        """Lets the call through once within `window` seconds. Raises `Refused`.

        `unseen`: the person says yes although not all of the call can be shown. `signatures` are kept with the entry.
        """
        entry = self.find(prefix)
        if entry.status != "pending":
            raise RefusedError(entry.status, entry)
        if not (entry.whole or unseen):
            raise RefusedError("unseen", entry)
        entry = structs.replace(entry, signatures=signatures) if signatures else entry
        return self._approve(entry, decision, now, window)

    def deny(self, prefix: str, decision: Decision, now: float, lasts: float, *, unanswered: bool = False) -> HeldCall:
        """Refuses a call that waits, or takes a yes back that was not used yet, for `lasts` seconds. Raises `Refused`.

        `unanswered`: only a call that nobody has answered yet.
        """
        entry = self.find(prefix)
        if entry.status not in OPEN or (unanswered and entry.status != "pending"):
            raise RefusedError(entry.status, entry)
        return self._decide(entry, "denied", decision, now, now + min(lasts, MAX_DENIAL))

    def revive(self, prefix: str, decision: Decision, now: float) -> HeldCall:
        """A call that nobody answered, or whose approval lapsed, may be made again. Raises `Refused`."""
        entry = self.find(prefix)
        if not may_be_revived(entry):
            raise RefusedError(entry.status, entry)
        if known := self.waiting(entry.binding, now, meaning=entry.meaning):
            raise RefusedError("again", known)
        return self._decide(entry, "expired", Decision(decision.by, decision.where, REVIVED), now, entry.expires)

    def revive_approved(
        self, prefix: str, nonce: str, decision: Decision, now: float, window: float, *, unseen: bool = False
    ) -> HeldCall:
        """The same, and the call is approved under `nonce`: it may run once within `window` seconds. Raises `Refused`."""
        entry = self.find(prefix)
        is_cut = not entry.whole or len(entry.shown) == MAX_CLOSED_SHOWN  # earlier versions cut it without a word
        if may_be_revived(entry) and is_cut and not unseen:
            raise RefusedError("unseen", entry)
        self.revive(entry.nonce, decision, now)
        return self._approve(structs.replace(entry, nonce=nonce, created=now, signatures=()), decision, now, window)

    def lapse(self, means: Callable[[HeldCall], bool], decision: Decision, now: float) -> list[HeldCall]:
        """Closes what waits and is meant: what it was held for is over. Those that it closed."""
        calls = [entry for entry in self.entries if entry.status == "pending" and means(entry) and self._holds(entry)]
        decision = Decision(decision.by, decision.where, LAPSED)
        return [self._decide(_closed(entry, "expired", now), "expired", decision, now, entry.expires) for entry in calls]

    def settle(self, nonce: str, status: Status, decision: Decision, now: float) -> HeldCall | None:
        """What the gateway's own prompt brought: `used`, `denied` or `expired`. None where it is closed already.

        A no there takes back a yes that was given elsewhere meanwhile; a yes there is the one that was used.
        """
        entry = self._entries.get(nonce)
        if entry is None or entry.status not in OPEN or not self._holds(entry):
            return None
        if status == "used":
            known = entry if entry.status == "approved" else self._decide(entry, "approved", decision, now, entry.expires)
            return self.use(known, now)
        if status == "expired" and entry.status == "approved":
            return None
        lasts = now + min(entry.expires - entry.created, MAX_DENIAL) if status == "denied" else entry.expires
        return self._decide(entry, status, decision, now, lasts)

    def _approve(self, entry: HeldCall, decision: Decision, now: float, window: float) -> HeldCall:
        entry = structs.replace(entry, latest=now + MAX_APPROVED, woken="", asleep="")
        return self._decide(entry, "approved", decision, now, now + window)

    def _holds(self, entry: HeldCall) -> bool:
        ours = any(entry is held for held in (*self.changed, *self.moved))  # made here just now, and not signed yet
        if ours or self._trusted(entry):
            return True
        self.forged.append(entry)
        self._entries.pop(entry.nonce, None)
        return False

    def _decide(self, entry: HeldCall, status: Status, decision: Decision, now: float, expires: float) -> HeldCall:
        who = {"by": decision.by, "where": decision.where, "why": decision.why}
        return self._put(structs.replace(entry, status=status, decided=now, expires=expires, **who))

    def _put(self, entry: HeldCall) -> HeldCall:
        self._entries[entry.nonce] = entry
        self.changed.append(entry)
        return entry


def call_of(entry: HeldCall) -> str:
    """Equal for entries of the same words, whatever they mean."""
    return entry.meaning.call if entry.meaning is not None else entry.binding


def _in_short(changes: tuple[str, ...]) -> str:
    """Returns the first change and the number of the others, since every list of held calls shows the reason."""
    more = len(changes) - 1
    rest = f" and {more} more {'change' if more == 1 else 'changes'}" if more else ""
    return f"{changes[0]}{rest}."


def _means(entry: HeldCall, now: Meaning | None) -> bool:
    """Whether what is decided about an entry holds for the same words now. A denial holds unless the call runs another code:
    no link makes it weaker."""
    meaning = entry.meaning
    if meaning is None or now is None or meaning.call != now.call or entry.binding != bind_meaning(meaning):
        return False
    if entry.status == "denied":
        return _code(meaning) == _code(now)
    return call_meaning.covers(meaning, now)


def _is_blind(entry: HeldCall, now: Meaning | None) -> bool:
    """Whether an approval would be used for a call that cannot be looked at now."""
    if entry.status != "approved" or entry.meaning is None or now is None:
        return False
    return not call_meaning.is_comparable(now)


def _code(meaning: Meaning) -> set[tuple[str, str]]:
    return {(file.path, file.digest) for file in meaning.files if file.code}


def is_missed(entry: HeldCall) -> bool:
    """Whether its time was over before anybody answered, and nobody has revived it since."""
    return entry.status == "expired" and entry.where in ("", NATIVE) and not (entry.by or entry.why)


def is_lapsed(entry: HeldCall) -> bool:
    """Whether it was approved, and its call did not run in time."""
    if entry.status != "expired" or is_missed(entry) or entry.why in (REVIVED, LAPSED):
        return False
    is_timeout = entry.where == NATIVE and not entry.latest  # of the gateway's own prompt: nobody approved
    is_approved = bool(entry.by or entry.latest)  # else it gave way to an approval that is there again
    return is_approved and not (is_timeout or entry.why.startswith(UNPROVEN))


def may_be_revived(entry: HeldCall) -> bool:
    return is_missed(entry) or is_lapsed(entry)


def latest_end(entry: HeldCall) -> float:
    """When this approval is over at the latest, whichever version wrote it."""
    if entry.latest:
        return entry.latest
    return entry.expires if entry.why.startswith(REISSUED) else entry.decided + MAX_APPROVED


def _remembered(closed: list[HeldCall], now: float) -> list[HeldCall]:
    latest = {call_of(entry): entry.nonce for entry in closed}  # in the order of entering: the clock may step back
    unanswered = [entry for entry in closed if may_be_revived(entry) and latest[call_of(entry)] == entry.nonce]
    missed = sorted(unanswered, key=lambda entry: entry.decided)[-MAX_MISSED:]
    longer = {entry.nonce for entry in missed if now < entry.decided + MISSED_REMEMBERED}
    known = [entry for entry in closed if now < entry.decided + REMEMBERED or entry.nonce in longer]
    if len(known) <= MAX_CLOSED:
        return known
    return sorted(known, key=lambda entry: (_answers(entry, now), entry.decided))[-MAX_CLOSED:]


def _closed(entry: HeldCall, status: Status, now: float) -> HeldCall:
    """What is over is kept for its answer only: the whole call is in the audit log. More is kept of a call that nobody
    answered, or whose approval lapsed: it can be approved later, and `whole` says whether that is all of it."""
    over = structs.replace(entry, status=status, decided=now, exact=None)
    if not may_be_revived(over):
        return structs.replace(over, shown=entry.shown[:MAX_CLOSED_SHOWN])
    fits = len(entry.shown) <= MAX_MISSED_SHOWN
    return structs.replace(over, shown=entry.shown[:MAX_MISSED_SHOWN], whole=entry.whole and fits)


def _rank(entry: HeldCall) -> int:
    """An approval first: one for more than the call means now must not stand behind a call that waits for less."""
    return {"approved": 0, "pending": 1}.get(entry.status, 2)


def _answers(entry: HeldCall, now: float) -> bool:
    return entry.status in ("pending", "approved", "denied") and now < entry.expires and not _from_the_future(entry, now)


def _from_the_future(entry: HeldCall, now: float) -> bool:
    """The clock was set back: when the approval's window ends cannot be said any more."""
    return entry.status == "approved" and now < entry.decided - SKEW
