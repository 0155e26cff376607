"""Watches the book of held calls for what other processes decide: an approval wakes the agent that waits for it, and lasts
while that agent is at work (`approval_window`).

The file is looked at only while calls wait, or expired unanswered and may be revived, and read only when it has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct

from toolguard_engine.approvals import approval_window
from toolguard_engine.approvals.approval_window import NO_NEWS, EndMove, WakeOutcome
from toolguard_engine.approvals.ledger import (
    LAPSED,
    NATIVE,
    OPEN,
    REVIVED,
    HeldCall,
    Status,
    call_of,
    latest_end,
    may_be_revived,
)
from toolguard_engine.server.clock import Clock
from toolguard_engine.server.session_runs import SessionRuns
from toolguard_engine.server.store_queue import StoreJob, StoreQueue
from toolguard_engine.stores.locked import Busy, Damaged, StoreError
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.wire import messages
from toolguard_engine.wording import approval

MAX_WOKEN = 5_000
NEVER = (0, 0, 0)
"""The stamp of no file."""

REVIVED_SECONDS = 600.0
"""For how long an agent is woken for a call that was revived: its session may be busy, or the engine start only then."""

Say = Callable[[list[messages.Wire]], None]


_WORDS: dict[Status, Literal["approve", "deny"]] = {"approved": "approve", "denied": "deny"}


class _Look(Struct, frozen=True):
    """What was found: `entries` is None where the file is as it was."""

    stamp: tuple[int, int, int]
    entries: list[HeldCall] | None


class Wakes:
    """`poll` looks beside the loop; the agents to wake go to `say`, if that is wanted, and with `native` what was decided
    about calls that the gateway may be asking about. `window`: that of approvals, in seconds."""

    def __init__(
        self, nonces: HeldCallStore, clock: Clock, queue: StoreQueue, say: Say, *, wake: bool, window: float,
        native: bool = False,
    ) -> None:  # fmt: skip
        self._nonces = nonces
        self._time = clock
        self._clock = clock.time
        self._window = window
        self.runs = SessionRuns()
        self._outcomes: dict[str, WakeOutcome] = {}
        """By nonce: what the gateway said last of waking its agent."""
        self._over: dict[str, float] = {}
        """By nonce: when an approval is over at the latest, by the monotonic clock."""
        self._queue = queue
        self._say = say
        self._wanted = wake
        self._seen: tuple[int, int, int] | None = None
        self._native = native
        self._open: list[HeldCall] = []
        self._revived: list[HeldCall] = []
        self.may_revive = False
        """Whether a call expired unanswered."""
        self._passed_on: dict[str, None] = {}
        self._noted: dict[str, None] = {}
        """What an agent was told of in a run that nobody woke it for."""
        self._woken: dict[str, int] = {}  # how often; who does not use a yes is not woken for it for ever
        self._is_looking = False
        self.trouble = ""

    @property
    def watching(self) -> bool:
        """Whether anything waits that a person may decide on, and it is not being looked at."""
        return self.can_poll and (bool(self._open) or self._seen is None or self._nonces.is_behind)

    @property
    def can_poll(self) -> bool:
        """Whether it is not being looked at."""
        return not self._is_looking

    def look(self) -> None:
        """A call was held just now: look again at the next poll."""
        self._seen = None

    def poll(self) -> None:
        """Wakes for what was approved since the last time; closes what is over. Never raises."""
        now = self._clock()
        is_over = self._nonces.is_behind or any(now >= entry.expires for entry in self._open)
        self._is_looking, seen, self._seen = True, self._seen, self._seen or NEVER
        look = partial(self._look, now if is_over else None, seen, now, self._moves(now))
        self._queue.do(StoreJob(work=look, done=self._found, failed=partial(self._failed, seen)))

    def _moves(self, now: float) -> list[EndMove]:
        """What becomes of the ends of approvals."""
        monotonic = self._time.monotonic()
        approved = [entry for entry in self._open if entry.status == "approved"]
        self._over = {held.nonce: self._over.get(held.nonce, monotonic + latest_end(held) - now) for held in approved}
        known = {held.nonce for held in (*self._open, *self._revived)}
        self._outcomes = {nonce: outcome for nonce, outcome in self._outcomes.items() if nonce in known}
        moves = (
            approval_window.move(
                held, now, self._window, is_busy=self.runs.is_busy(held.session),
                outcome=self._outcomes.get(held.nonce, NO_NEWS), left=self._over[held.nonce] - monotonic,
            )
            for held in approved
        )  # fmt: skip
        return [move for move in moves if move is not None]

    def reported(self, nonce: str, outcome: WakeOutcome) -> None:
        """The gateway says whether the agent of this call was woken."""
        if any(held.nonce == nonce for held in (*self._open, *self._revived)):
            self._outcomes[nonce] = outcome

    def _look(self, sweep: float | None, seen: tuple[int, int, int] | None, now: float, moves: Sequence[EndMove]) -> _Look:
        """Runs in the thread of the queue."""
        if moves:
            self._nonces.move_ends(moves, now)
        if sweep is not None:
            self._nonces.sweep(sweep)
        stamp = _stamp(self._nonces.path)
        return _Look(stamp, None if stamp == seen else self._nonces.entries())

    def _failed(self, seen: tuple[int, int, int] | None, error: Exception) -> None:
        self._is_looking = False
        if isinstance(error, Busy):  # soon it is not: what a person may still decide on is waited for
            now, self._seen = self._clock(), self._seen and seen
            self._open = [entry for entry in self._open if now < entry.expires]
            return
        self.trouble = str(error) if isinstance(error, Damaged) else ""  # others are told when a call needs the store
        self._open = []
        if not isinstance(error, StoreError):
            raise error

    def _found(self, look: _Look) -> None:
        self._is_looking = False
        if self._seen is not None:  # nothing was held since it was looked for
            self._seen = look.stamp
        if look.entries is None:
            return
        waited = {entry.nonce for entry in self._open if entry.status == "pending"}
        now = self._clock()
        self._open = [entry for entry in look.entries if entry.status in OPEN]
        latest = {call_of(entry): entry for entry in look.entries}.values()
        self._revived = [held for held in latest if held.why == REVIVED and now < held.decided + REVIVED_SECONDS]
        self.may_revive = any(map(may_be_revived, look.entries))
        self.trouble = ""
        decided = self._decided(look.entries) if self._native else []
        self._say([*decided, *(self._wakes(look.entries, waited) if self._wanted else [])])

    def _decided(self, entries: list[HeldCall]) -> list[messages.Decided]:
        """What was decided elsewhere since the last time."""
        calls = [entry for entry in entries if entry.status in _WORDS and entry.where != NATIVE]
        news = [held for held in calls if f"{held.nonce} {held.status}" not in self._passed_on]
        self._passed_on = {f"{held.nonce} {held.status}": None for held in calls}
        return [messages.Decided(held.nonce, _WORDS[held.status]) for held in news]

    def _wakes(self, entries: list[HeldCall], waited: set[str]) -> list[messages.Wake]:
        approved = [entry for entry in self._open if entry.status == "approved" and not self._woken.get(_cause(entry))]
        lapsed = {entry.session: entry for entry in entries if entry.nonce in waited and entry.why == LAPSED}
        approved += [entry for entry in self._revived if not self._woken.get(_cause(entry))]
        woken = {entry.session for entry in approved}
        wakes = [self._wake(entry) for entry in approved]
        return wakes + [_go_on(entry) for session, entry in lapsed.items() if session not in woken]

    def ended(self, session: str) -> None:
        """A run of this session is over: an agent that was busy at its approval is notified, if the call still waits."""
        waited_for = (entry for entry in [*self._open, *self._revived] if entry.session == session)
        known = [entry for entry in waited_for if self._woken.get(_cause(entry)) == 1]
        if not known:
            return
        for entry in known:
            self._woken[_cause(entry)] = 0
        self._seen = None
        if not self._is_looking:
            self.poll()

    def take_note(self, session: str) -> str:
        """What the agent of a run is told of its calls that was not woken for them, once; empty where there is nothing."""
        if not (self._wanted and (self._open or self._revived)):
            return ""
        asked = [held for held in self._open if held.status == "approved" and held.woken != "woken"]
        asked += [held for held in self._revived if self._outcomes.get(held.nonce, NO_NEWS).woken != "woken"]
        calls = [held for held in asked if held.session == session and _cause(held) not in self._noted]
        self._noted |= dict.fromkeys(map(_cause, calls))
        while len(self._noted) > MAX_WOKEN:
            self._noted.pop(next(iter(self._noted)))
        return "\n\n".join(_text(held) for held in calls)

    def _wake(self, entry: HeldCall) -> messages.Wake:
        self._woken[_cause(entry)] = 2 if _cause(entry) in self._woken else 1
        while len(self._woken) > MAX_WOKEN:
            self._woken.pop(next(iter(self._woken)))
        return messages.Wake(entry.nonce, entry.agent, entry.session, _text(entry))


def _cause(entry: HeldCall) -> str:
    """What an agent is woken for: an approval, or that the call was revived when that had lapsed."""
    return f"{entry.nonce} revived" if entry.why == REVIVED else entry.nonce


def _text(entry: HeldCall) -> str:
    text = approval.revived if entry.why == REVIVED else approval.approved
    return text(entry.nonce, entry.shown)


def _stamp(path: Path) -> tuple[int, int, int]:
    """What differs when the file does."""
    try:
        stat = path.stat()
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return NEVER
    return (stat.st_ino, stat.st_mtime_ns, stat.st_size)


def _go_on(entry: HeldCall) -> messages.Wake:
    return messages.Wake(entry.nonce, entry.agent, entry.session, approval.go_on(entry.nonce, entry.shown))
