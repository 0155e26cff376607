"""Whose call is judged next: a session that has just used much processor time waits longer than others.

Only calls wait, and what is noted of their session behind them: for other questions the gateway stands still, and with it
every session. A call waits until its session has had no more than its share and credit, or nobody else asks, and never
longer than `MOST_WAIT`. What it is judged as does not depend on this: that is counted in steps (`model/work_allowance`).
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from typing import NamedTuple

from toolguard_engine.wire import messages

SHARE = 0.05
"""Of the time, what a session may use while others ask."""

FREE_SECONDS = 0.01
"""Of processor time: a message that takes less is not counted. Nearly all take a tenth of that."""

CREDIT = 0.05
"""Seconds of processor time that a session may use at once before it waits: one call that is a little slower than usual
delays nobody's work."""

MOST_WAIT = 3.0
"""Seconds. After five without an answer the gateway part asks itself whether the engine works."""

MOST_DEBT = 20.0
"""Seconds for which a session may have to wait in all, whatever it has used."""

QUIET = 0.02
"""Seconds without a message after which nobody else asks anything."""

MAX_WAITING = 200
MAX_SESSIONS = 1_000

_Who = tuple[str, str]


class _Waiting(NamedTuple):
    message: messages.Incoming
    due: float


class FairTurns:
    """Times are those of the monotonic clock."""

    def __init__(self) -> None:
        self._free_at: OrderedDict[_Who, float] = OrderedDict()
        """When what a session has used is no more than its share and its credit."""
        self._waiting: deque[_Waiting] = deque()

    @property
    def next(self) -> float:
        """When somebody has waited long enough; infinity while nobody waits."""
        return min((each.due for each in self._waiting), default=math.inf)

    def used(self, message: messages.Incoming, seconds: float, now: float) -> None:
        """A message has taken so much processor time."""
        if seconds < FREE_SECONDS or not isinstance(message, messages.Place) or not message.session:
            return
        who = message.agent, message.session
        full = now - CREDIT / SHARE
        free_at = max(full, self._free_at.pop(who, full)) + seconds / SHARE
        self._free_at[who] = min(free_at, now + MOST_DEBT)
        if len(self._free_at) > MAX_SESSIONS:
            self._free_at.popitem(last=False)

    def postpones(self, message: messages.Incoming, now: float) -> bool:
        """Whether this message is put aside, to be taken later."""
        if not self._free_at or len(self._waiting) >= MAX_WAITING:
            return False
        before = self._before(message)
        if isinstance(message, messages.Judge):
            who = message.agent, message.session
            free_at = self._free_at.get(who, now)
            if free_at <= now - CREDIT / SHARE:
                self._free_at.pop(who, None)
            if free_at > now or before is not None:
                self._waiting.append(_Waiting(message, min(free_at, now + MOST_WAIT)))
                return True
        elif before is not None:
            self._waiting.append(_Waiting(message, before.due))
            return True
        return False

    def take(self, now: float = math.inf) -> messages.Incoming | None:
        """The first one that has waited long enough by then, by default any; None if there is none."""
        for at, each in enumerate(self._waiting):
            if each.due <= now:
                del self._waiting[at]
                return each.message
        return None

    def _before(self, message: messages.Incoming) -> _Waiting | None:
        """The last message that waits and has to be taken before this one; None if there is none."""
        if not self._waiting or not isinstance(message, messages.Judge | messages.Note | messages.ToolResult):
            return None
        if isinstance(message, messages.ToolResult) and message.id is not None:
            return None
        session, run = getattr(message, "session", ""), getattr(message, "run", "")
        for each in reversed(self._waiting):
            other = each.message
            if (session and session == getattr(other, "session", "")) or (run and run == getattr(other, "run", "")):
                return each
        return None
