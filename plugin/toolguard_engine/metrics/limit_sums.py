"""Reads what is used of the limits from the metrics file, in the thread that writes it, and claims the warnings.

A running period ends only by a clock that can be trusted: after the clock was set (or the machine slept), the old period
stays in force until the clock has run evenly for ten minutes. A warning is claimed in the file, so that one engine of the
machine gives it, once per limit and period.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct, field

from toolguard_engine.config.settings import LimitPeriod
from toolguard_engine.config.spending_limits import SpendingCap, period
from toolguard_engine.metrics.queries import spending
from toolguard_engine.metrics.steady_clock import JUMP_MS, STEADY_MS
from toolguard_engine.model.counted_sums import CountedSums
from toolguard_engine.stores.transactions import transaction

PERIODS: tuple[LimitPeriod, ...] = ("session", "day", "month")


class NearLimit(NamedTuple):
    """A warning that this engine has to give. `session`: empty but for a limit per session."""

    cap: SpendingCap
    used: float
    session: str = ""


class PeriodClock(Struct):
    """The moment whose day and month are in force. Call `at` repeatedly; all times are in milliseconds."""

    _ahead: int | None = None
    _jumped: int | None = None
    _at: int = 0

    def reckon(self, now: int, ticks: int) -> int:
        """`ticks`: of the monotonic clock. The first moment counts as it is."""
        if self._ahead is None:
            self._ahead = now - ticks
        elif abs(now - ticks - self._ahead) > JUMP_MS:
            self._ahead, self._jumped = now - ticks, ticks
        if self._jumped is None or ticks - self._jumped >= STEADY_MS:
            self._at, self._jumped = now, None
        return self._at


class LimitSums(Struct):
    """Another thread takes what `read` leaves: the newest sums in `latest`, and claimed warnings in `near`."""

    caps: Sequence[SpendingCap]
    latest: CountedSums | None = None
    near: deque[NearLimit] = field(default_factory=deque)
    _clock: PeriodClock = field(default_factory=PeriodClock)
    _state: tuple[object, ...] = ()
    _warned: set[tuple[str, str, int]] = field(default_factory=set)

    def only_period(self, now: int, ticks: int, passed: int) -> None:
        """The file cannot be read."""
        at = self._clock.reckon(now, ticks)
        self.latest = CountedSums(_begins(at), passed=passed, is_read=False)
        self._state = ()

    def read(self, connection: sqlite3.Connection, gateway: str, now: int, ticks: int, passed: int, *, warns: bool) -> None:
        """`gateway`: the name of ours; `passed`: how many of our rows left the queue before this was called. `warns`: we
        added model calls, so warnings are ours to give: an engine that is idle would give them late."""
        at = self._clock.reckon(now, ticks)
        begins = _begins(at)
        state = (*connection.execute("PRAGMA data_version").fetchone(), connection.total_changes, *begins.values())
        if state == self._state and self.latest is not None:
            self.latest = self.latest._replace(passed=passed)
            return
        self.latest = self._summed(connection, gateway, at)._replace(begins=begins, passed=passed)
        if warns:
            self._claim(connection, self.latest)
        self._state = state

    def _summed(self, connection: sqlite3.Connection, gateway: str, at: int) -> CountedSums:
        amounts: dict[str, float] = {}
        sessions: dict[str, dict[str, float]] = {}
        rows = {per: spending.rows(connection, per, at) for per in {cap.per for cap in self.caps}}
        for cap in self.caps:
            if cap.per == "session":
                of = sessions[cap.key] = {}
                for row in rows["session"]:
                    if row.provider == gateway and cap.agent in ("", row.agent):
                        of[row.model] = of.get(row.model, 0.0) + row.amount(cap)
            else:
                covered = (row for row in rows[cap.per] if cap.covers(row.agent, row.provider, row.model))
                amounts[cap.key] = sum(row.amount(cap) for row in covered)
        return CountedSums({}, amounts, sessions)

    def _claim(self, connection: sqlite3.Connection, sums: CountedSums) -> None:
        due = {key: limit for limit in self._near(sums) if (key := self._key(limit, sums)) not in self._warned}
        if not due:
            return
        with transaction(connection):
            for (_, _, begins), due_limit in due.items():
                if connection.execute(_CLAIM, (_name(due_limit), begins)).rowcount:
                    self.near.append(due_limit)
                connection.execute(_FORGET, (f"{_CLAIMS} {due_limit.cap.per} ", begins))
        self._warned |= due.keys()

    def _near(self, sums: CountedSums) -> list[NearLimit]:
        limits: list[NearLimit] = []
        for cap in self.caps:
            of_sessions = sums.sessions.get(cap.key, {})
            used = of_sessions.items() if cap.per == "session" else [("", sums.amounts[cap.key])]
            limits += [NearLimit(cap, used_part, name) for name, used_part in used if cap.state(used_part) == "near"]
        return limits

    @staticmethod
    def _key(near: NearLimit, sums: CountedSums) -> tuple[str, str, int]:
        return near.cap.key, near.session, sums.begins[near.cap.per]


def _begins(at: int) -> dict[str, int]:
    return {per: period(per, at)[0] for per in PERIODS}


def _name(near: NearLimit) -> str:
    return f"{_CLAIMS} {near.cap.per} {near.cap.amount:g} {near.cap.key} {near.session}"


_CLAIMS = "limit"
_CLAIM = """
    INSERT INTO toolguard_upkeep (name, at) VALUES (?, ?)
    ON CONFLICT (name) DO UPDATE SET at = excluded.at WHERE at <> excluded.at"""
_FORGET = "DELETE FROM toolguard_upkeep WHERE name GLOB ? || '*' AND at < ?"
