"""Held calls in the fleet's database. The database orders and counts; what it says is verified here before a call runs:

- the entry is ours (our signature), of this very call (binding, and what was shown) and nonce;
- `proof` finds valid signatures of enough persons;
- this machine never let a call run with that nonce (`local_marks`), and the mark is on disk before this one runs.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import structs

from toolguard_engine.approvals.approval_window import EndMove
from toolguard_engine.approvals.call_meaning import is_comparable
from toolguard_engine.approvals.ledger import (
    LAPSED,
    MAX_APPROVED,
    MAX_DENIAL,
    OPEN,
    REISSUED,
    UNPROVEN,
    Decision,
    HeldCall,
    Ledger,
    RefusedError,
    Status,
    TooManyHeldError,
    Woken,
)
from toolguard_engine.approvals.signed_decision import is_of_call
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores import atomic, signed_entry
from toolguard_engine.stores.files import signing_key_file
from toolguard_engine.stores.fleet import pipe_messages as pipe
from toolguard_engine.stores.fleet import received_entries
from toolguard_engine.stores.fleet.courier_link import FleetAwayError
from toolguard_engine.stores.fleet.fleet_setup import FleetSetup
from toolguard_engine.stores.fleet.local_marks import UsedBeforeError
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.state_files import FLEET_NEWS
from toolguard_engine.stores.values import NeedsSignatureError, Presented

NONCE_BYTES = 6
ATTEMPT_BYTES = 16
MAX_UNANSWERED = 1_000
LEAST_WAIT = 0.001
LEAST_MOVE = 0.5
"""Seconds: less is a difference of clocks."""
RETRY_SECONDS = 5.0
"""Until the database is asked to move an end again, if it could not."""
MAX_FORGED_LINES = 20
"""Of one look: the database must not be able to fill the audit log."""

MARK_SECONDS = 60.0
"""Within which an approval that the database gives out is marked as used here, or is not used."""
NOT_HERE = "the fleet's database says that it was used, but its call did not run on this machine"
CHANGED = "it shows a different call"
UNSEEN = "what it touches cannot be compared with what was approved, because the file system does not answer"
TOO_MANY = "it names more than can be compared, so no approval covers it; make it in smaller parts"


class UnprovenEntryError(StoreError):
    """The database answered with an entry that is not of the call."""

    code = "approval.bad-signature"


class UnseenPlacesError(StoreError):
    """There is an approval, but what the call touches cannot be compared with what was approved. The approval is kept."""

    code = "approval.away"


class FleetHeldCalls:
    """`HeldCallStore` of one gateway in a fleet. `path` changes when there are news."""

    def __init__(self, setup: FleetSetup) -> None:
        self.path = atomic.own_folder(setup.state_dir) / FLEET_NEWS
        self._setup = setup
        self._log = setup.log
        self._known: dict[str, HeldCall] = {}
        """By nonce, as last seen. The thread of the link changes it too: iterate over a copy."""
        self._unanswered: dict[str, bytes] = {}
        """Attempts whose answer was lost, by binding: the same call asks with the same attempt."""
        self._woken: dict[str, tuple[Woken, str]] = {}
        """What is known of the agents of approvals, by nonce."""
        self._may_move = 0.0
        self._attempts: dict[str, bytes] = {}
        """That used an approval here, by nonce."""

    @property
    def is_behind(self) -> bool:
        return self._log.is_behind

    def gateway_id(self) -> str:
        return self._setup.gateway_id()

    def present(self, request: HeldCall, now: float, *, former: Collection[str] = (), log: bool = True) -> Presented:
        request = self._known_request(request, now)
        answer, attempt, entry = self._asked_about(request)
        if answer.outcome == "pending" and not is_of_call(entry, request):
            self._close_changed(entry, now)
            answer, attempt, entry = self._asked_about(request)
        held = self._stated(entry, answer, now)
        try:
            if held.status == "used" and (why := self._refusal(held, answer, attempt, now, request)):
                return Presented("expired", structs.replace(held, status="expired", why=f"{UNPROVEN}{why}"), refusal=why)
            self._note(held, fresh=answer.fresh)
        finally:
            if log:
                with suppress(StoreError):
                    self.write_log()
        return Presented(held.status, held, answer.fresh)

    def _known_request(self, request: HeldCall, now: float) -> HeldCall:
        """The same call as it was entered before, if that covers what it means now; else with what is new. The database
        finds entries by their binding alone."""
        ledger = Ledger(list(self._known.values()))
        known = ledger.waiting(request.binding, now, meaning=request.meaning)
        if known is None:
            return ledger.compared(request, str(Path.home()))
        return structs.replace(request, binding=known.binding, meaning=known.meaning)

    def _asked_about(self, request: HeldCall) -> tuple[pipe.PresentAnswer, bytes, HeldCall]:
        """The answer, the attempt, and the entry that was presented under its nonce."""
        answer, attempt = self._presented(request)
        if answer.outcome == "too-many":
            raise TooManyHeldError
        return answer, attempt, self._ours(answer.nonce, answer.entry, request)

    def _close_changed(self, entry: HeldCall, now: float) -> None:
        """An entry of this binding that shows another call: who has our key and token can enter one. Nobody may approve it,
        and the call is held again."""
        self._log.forged(entry, CHANGED, now)
        self._known.pop(entry.nonce, None)
        self._done(lambda number, seconds: pipe.Close(number, seconds, entry.nonce, "expired", why=f"{UNPROVEN}{CHANGED}"))

    def _presented(self, request: HeldCall) -> tuple[pipe.PresentAnswer, bytes]:
        setup = self._setup
        attempt = self._unanswered.pop(request.binding, b"") or secrets.token_bytes(ATTEMPT_BYTES)
        self._unanswered[request.binding] = attempt
        while len(self._unanswered) > MAX_UNANSWERED:
            self._unanswered.pop(next(iter(self._unanswered)))
        entry = structs.replace(request, nonce=secrets.token_hex(NONCE_BYTES))
        own = signing_key_file.load(setup.state_dir)
        need, teams = setup.proof.need(entry)
        stored = bytes(signed_entry.signed(own, entry))
        wait = max(LEAST_WAIT, request.expires - request.created)
        answer = self._ask(
            lambda number, seconds: pipe.Present(
                number, seconds, attempt, entry.nonce, entry.binding, entry.session, entry.requester,
                setup.proof.digest(entry), stored, wait, setup.window, need, teams,
            ),
        )  # fmt: skip
        if not isinstance(answer, pipe.PresentAnswer):
            raise FleetAwayError("the courier gave an unexpected answer; repeat the call later")
        del self._unanswered[request.binding]
        return answer, attempt

    def _ask(self, make: Callable[[int, float], pipe.Question]) -> pipe.Answer:
        """Raises `StoreError`."""
        self._setup.gateway_id()
        return self._setup.link.ask(make, self._setup.seconds)

    def _ours(self, nonce: str, stored: bytes, request: HeldCall) -> HeldCall:
        entry = received_entries.request_of(signing_key_file.load(self._setup.state_dir), nonce, stored)
        if entry is None or entry.binding != request.binding:
            raise UnprovenEntryError("the fleet's database returned the entry of a different call; inform its owner")
        return entry

    def _stated(self, entry: HeldCall, answer: pipe.PresentAnswer, now: float) -> HeldCall:
        status: Status = "used" if answer.outcome == "used" else "denied" if answer.outcome == "denied" else "pending"
        entry_data = pipe.FleetEntry(
            answer.nonce, status, answer.entry, answer.left, answer.at or 0.0, answer.by, answer.where, answer.why,
            answer.decisions,
        )  # fmt: skip
        return received_entries.with_state(entry, entry_data, now, self._setup.skew())

    def _refusal(self, entry: HeldCall, answer: pipe.PresentAnswer, attempt: bytes, now: float, request: HeldCall) -> str:
        """Why the approval does not count; empty where the call may run: then it is marked as used on disk."""
        try:
            if request.meaning is not None and not is_comparable(request.meaning):
                raise UnseenPlacesError(UNSEEN if request.meaning.late else TOO_MANY)
            why = "" if is_of_call(entry, request) else CHANGED
            why = why or self._setup.proof.refusal(entry, answer.decisions, now + self._setup.skew(), request)
        except StoreError:  # it cannot be known now: the approval must not be lost by that
            with suppress(StoreError):
                self._done(lambda number, seconds: pipe.GiveBack(number, seconds, entry.nonce, attempt))
            raise
        if not why:
            try:
                self._setup.marks.use(entry.nonce, attempt)
            except UsedBeforeError as error:
                why = str(error)
        if why:
            self._known.pop(entry.nonce, None)
            self._log.forged(entry, f"the fleet's database says that it was approved: {why}", now)
            return why
        self._attempts[entry.nonce] = attempt
        while len(self._attempts) > MAX_UNANSWERED:
            self._attempts.pop(next(iter(self._attempts)))
        return ""

    def _note(self, entry: HeldCall, *, fresh: bool) -> None:
        if fresh:
            self._log.held(entry)
            self._touch()
        elif entry.status != "pending":
            self._log.take([entry], is_new=entry.nonce in self._known)
        self._known[entry.nonce] = entry
        self._wait()

    def _wait(self) -> None:
        self._setup.link.wait_for(tuple(sorted(nonce for nonce, entry in list(self._known.items()) if entry.status in OPEN)))

    def _touch(self) -> None:
        """Other processes look at the file."""
        with suppress(OSError):
            atomic.make_folder(self.path.parent)
            atomic.replace(self.path, secrets.token_hex(8).encode(), durable=False)

    def take(self, news: pipe.HoldDecided) -> None:
        """Something was decided elsewhere. In the thread of the link."""
        known = self._known.get(news.nonce)
        if known is not None and known.status != news.status:
            self._known[news.nonce] = structs.replace(known, status=news.status)
        self._touch()

    def give_back(self, used: HeldCall, now: float) -> HeldCall | None:
        attempt = self._attempts.get(used.nonce)
        if attempt is None:
            return None
        done = self._done(lambda number, seconds: pipe.GiveBack(number, seconds, used.nonce, attempt))
        if done:
            self._setup.marks.give_back(used.nonce, attempt)
        self._attempts.pop(used.nonce, None)
        if not done:
            return None
        why = f"{REISSUED}it was used up, but its call did not run; {used.why}".removesuffix("; ")
        again = self._known[used.nonce] = structs.replace(used, status="approved", decided=now, why=why)
        self._log.take([again], is_new=True)
        self._wait()
        return again

    def move_ends(self, moves: Sequence[EndMove], now: float) -> None:
        """Where the database cannot be asked, or is of an earlier version, its approvals end after their windows."""
        known = [(move, self._known[move.nonce]) for move in moves if move.nonce in self._known]
        self._woken = {nonce: woken for nonce, woken in self._woken.items() if nonce in self._known}
        if [move for move, entry in known if self._notes(move) | self._moves(move, entry, now)]:
            self._touch()

    def _notes(self, move: EndMove) -> bool:
        """Whether it is news what became of waking the agent."""
        noted, self._woken[move.nonce] = self._woken.get(move.nonce, ("", "")), (move.woken, move.asleep)
        return noted != self._woken[move.nonce]

    def _moves(self, move: EndMove, entry: HeldCall, now: float) -> bool:
        """Whether the database has moved the end."""
        if now < self._may_move or abs(move.expires - entry.expires) < LEAST_MOVE:
            return False
        left = min(max(move.expires - now, LEAST_WAIT), MAX_APPROVED)
        try:
            return self._done(lambda number, seconds: pipe.MoveEnd(number, seconds, move.nonce, left))
        except StoreError:
            self._may_move = now + RETRY_SECONDS
            return False

    def _done(self, make: Callable[[int, float], pipe.Question]) -> bool:
        answer = self._ask(make)
        return isinstance(answer, pipe.DoneAnswer) and answer.done

    def write_log(self, *, patient: bool = False) -> None:
        self._log.write(patient=patient)

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
        raise NeedsSignatureError(f"an approval in a fleet needs your signature; run toolguard approve {_shown(prefix)}")

    def revive(self, prefix: str, decision: Decision, now: float) -> HeldCall:
        raise NeedsSignatureError(f"in a fleet a call is revived with your own login; run toolguard revive {_shown(prefix)}")

    def revive_approved(
        self,
        prefix: str,
        decision: Decision,
        now: float,
        window: float,
        *,
        unseen: bool = False,
    ) -> HeldCall:
        raise NeedsSignatureError(f"an approval in a fleet needs your signature; run toolguard approve {_shown(prefix)}")

    def deny(self, prefix: str, decision: Decision, now: float, lasts: float, *, unanswered: bool = False) -> HeldCall:
        entry = Ledger(self.entries()).find(prefix)
        if entry.status not in OPEN or (unanswered and entry.status != "pending"):
            raise RefusedError(entry.status, entry)
        return self._close(entry, "denied", decision, now, now + min(lasts, MAX_DENIAL))

    def lapse(self, means: Callable[[HeldCall], bool], decision: Decision, now: float) -> list[HeldCall]:
        calls = [entry for entry in self.entries() if entry.status == "pending" and means(entry)]
        lapsed = Decision(decision.by, decision.where, LAPSED)
        return [self._close(entry, "expired", lapsed, now, entry.expires) for entry in calls]

    def settle(self, nonce: str, status: Status, decision: Decision, now: float) -> HeldCall | None:
        """A yes in the gateway's own prompt is no signature, so it approves nothing."""
        entry = self._known.get(nonce)
        if entry is None or status == "used" or (status == "expired" and entry.status != "pending"):
            return None
        lasts = now + min(entry.expires - entry.created, MAX_DENIAL) if status == "denied" else entry.expires
        with suppress(RefusedError):
            return self._close(entry, "denied" if status == "denied" else "expired", decision, now, lasts)
        return None

    def _close(self, entry: HeldCall, status: Status, decision: Decision, now: float, expires: float) -> HeldCall:
        over: pipe.ClosedStatus = "denied" if status == "denied" else "expired"
        who = (decision.by, decision.where, decision.why)
        if not self._done(lambda number, seconds: pipe.Close(number, seconds, entry.nonce, over, *who)):
            raise RefusedError("unknown")
        by, where, why = who
        closed = structs.replace(entry, status=status, decided=now, expires=expires, by=by, where=where, why=why)
        self._log.take([closed], is_new=True)
        self._known[entry.nonce] = closed
        self._touch()
        self._wait()
        with suppress(StoreError):
            self.write_log()
        return closed

    def is_decided(self, nonce: str, now: float) -> bool:
        entry = self._known.get(nonce)
        return entry is not None and not (entry.status == "pending" and now < entry.expires)

    def entries(self) -> list[HeldCall]:
        calls, others = self._asked()
        now = time.time()
        for entry in others[:MAX_FORGED_LINES]:
            self._log.forged(entry, "the fleet's database returned it, but this gateway did not create it", now)
        elsewhere = self._used_elsewhere(calls, now)
        self._log.take(entry for entry in calls if entry.nonce not in elsewhere)
        self._known = {entry.nonce: entry for entry in calls}
        self._wait()
        with suppress(StoreError):
            self.write_log()
        return calls

    def _used_elsewhere(self, entries: list[HeldCall], now: float) -> set[str]:
        """Approvals of which the log must not say that they were used. One that another process of this machine uses just
        now is marked in a moment."""
        nonces = {entry.nonce for entry in entries if entry.status == "used"}
        if not nonces:
            return nonces
        try:
            nonces -= self._setup.marks.used(nonces)
        except StoreError:
            return nonces  # the next look finds out
        false = [entry for entry in entries if entry.nonce in nonces and now - entry.decided > MARK_SECONDS]
        for entry in false[:MAX_FORGED_LINES]:
            self._log.forged(entry, NOT_HERE, now)
        return nonces

    def look(self) -> tuple[list[HeldCall], list[HeldCall]]:
        return self._asked()

    def _asked(self) -> tuple[list[HeldCall], list[HeldCall]]:
        """The entries that are ours, the oldest first, and the others."""
        answer = self._ask(pipe.Entries)
        if not isinstance(answer, pipe.EntriesAnswer):
            raise FleetAwayError("the courier gave an unexpected answer; repeat it later")
        own, now = signing_key_file.load(self._setup.state_dir), time.time()
        ours: list[HeldCall] = []
        others: list[HeldCall] = []
        for found in answer.entries:
            entry = received_entries.request_of(own, found.nonce, found.entry)
            if entry is None:
                others.append(received_entries.named(found))
            else:
                stated = received_entries.with_state(entry, found, now, self._setup.skew())
                ours.append(self._as_noted(self._as_proven(stated, found, now)))
        return sorted(ours, key=lambda entry: entry.created), others

    def _as_noted(self, entry: HeldCall) -> HeldCall:
        woken, asleep = self._woken.get(entry.nonce, ("", "")) if entry.status == "approved" else ("", "")
        return structs.replace(entry, woken=woken, asleep=asleep) if woken else entry

    def _as_proven(self, entry: HeldCall, stated: pipe.FleetEntry, now: float) -> HeldCall:
        """An approval without proof is none: the call waits."""
        if entry.status != "approved":
            return entry
        try:
            why = self._setup.proof.refusal(entry, stated.decisions, now + self._setup.skew())
        except StoreError:
            why = ""  # whether it counts is found out when it is used
        if not why:
            return entry
        self._log.forged(entry, f"the fleet's database says that it was approved: {why}", now)
        return structs.replace(entry, status="pending", decided=0.0, by="", where="", why="")

    def sweep(self, now: float) -> None:
        """What is over by our clock is asked about again."""
        over = [nonce for nonce, entry in list(self._known.items()) if entry.status in OPEN and now >= entry.expires]
        for nonce in over:
            self._known.pop(nonce, None)
        if over:
            self._touch()
            self._wait()
        self.write_log()


def _shown(prefix: str) -> str:
    return "".join(sign for sign in prefix[:24] if sign.isalnum())
