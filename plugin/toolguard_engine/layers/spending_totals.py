"""What is used of each limit in the running periods: what the metrics file says, and what this engine counted since.

Invariants: within a period a total never becomes less, whatever becomes of the file; each of this engine's model calls
counts from the moment it is reported, once, before and after it is in the file. The period is that of the file's sums: no
clock is read here.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from toolguard_engine.config.spending_limits import SpendingCap
from toolguard_engine.model.counted_sums import CountedSums, UsedCall

MAX_SESSIONS = 1_000
MAX_KINDS = 1_000


class _Total(Struct):
    """`lost`: what was counted and is no longer in the file."""

    used: float = 0.0
    lost: float = 0.0

    def learn(self, counted: float) -> None:
        if counted + self.lost < self.used:
            self.lost = self.used - counted
        self.used = counted + self.lost


class _Cap(Struct, eq=False):
    cap: SpendingCap
    total: _Total = field(default_factory=_Total)
    sessions: OrderedDict[str, _Total] = field(default_factory=OrderedDict)
    """Of a limit per session."""

    def find_total(self, session: str) -> _Total:
        if self.cap.per != "session":
            return self.total
        total = self.sessions.setdefault(session, _Total())
        self.sessions.move_to_end(session)
        if len(self.sessions) > MAX_SESSIONS:
            self.sessions.popitem(last=False)
        return total

    def used(self, session: str) -> float:
        total = self.sessions.get(session) if self.cap.per == "session" else self.total
        return total.used if total else 0.0

    def restart(self) -> None:
        self.total = _Total()
        self.sessions.clear()


class SpendingTotals:
    """`name`: how the metrics spell a session."""

    def __init__(self, caps: Sequence[SpendingCap], name: Callable[[str], str] = str) -> None:
        self._caps = [_Cap(cap) for cap in caps]
        self._name = name
        self._begins: dict[str, int] = {}
        self._pending: deque[tuple[int, UsedCall]] = deque()
        self._unplaced: list[UsedCall] = []
        self._models: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._covering: dict[tuple[str, str, str], list[_Cap]] = {}
        self._is_reached = False
        self._notes: list[tuple[SpendingCap, str, str]] = []
        self.unknown = ""
        """Why the totals are no longer known; empty while they are."""

    def use(self, calls: Sequence[UsedCall]) -> bool:
        """Counts model calls of this engine; whether a limit is now close, or reached."""
        close = False
        for call in calls:
            self._unplaced.append(call)
            self._remember_model(call)
            close |= self._count(call)
        return close

    def placed(self, before: int) -> None:
        """What was counted since the last time is on its way to the file, behind `before` other rows."""
        self._pending.extend((before + number, call) for number, call in enumerate(self._unplaced, 1))
        self._unplaced.clear()

    def learn(self, sums: CountedSums) -> None:
        """Takes over the sums of the file."""
        self._enter(sums.begins)
        while self._pending and self._pending[0][0] <= sums.passed:
            self._pending.popleft()
        if not sums.is_read:
            return
        for cap in self._caps:
            mine = self._own(cap)
            if cap.cap.per != "session":
                cap.total.learn(sums.amounts.get(cap.cap.key, 0.0) + sum(_amount(cap.cap, call) for call in mine))
                continue
            in_file = sums.sessions.get(cap.cap.key, {})
            for session in {*in_file, *cap.sessions, *(call.session for call in mine)}:
                pending = sum(_amount(cap.cap, call) for call in mine if call.session == session)
                cap.find_total(session).learn(in_file.get(session, 0.0) + pending)
        self._is_reached = any(map(_is_reached, self._caps))

    def reached(self, agent: str, session: str, model: tuple[str, str] | None = None) -> tuple[SpendingCap, float] | None:
        """A limit that this session may not go beyond, and what is used of it. `model`: its provider and name; by default
        those that the session used last."""
        if not self._is_reached:
            return None
        session = self._name(session)
        provider, name = model or self._models.get(session, ("", ""))
        for known in self._caps:
            cap = known.cap
            if cap.agent in ("", agent) and (not cap.model or cap.covers(agent, provider, name)):
                used = known.used(session)
                if cap.state(used) == "reached":
                    return cap, used
        return None

    def warn(self, cap: SpendingCap, session: str, text: str) -> None:
        """The next call that counts for this limit is to be given this note."""
        self._notes.append((cap, session, text))

    def take_note(self, agent: str, session: str) -> str:
        if not self._notes:
            return ""
        session = self._name(session)
        fitting = [note for note in self._notes if note[0].agent in ("", agent) and note[1] in ("", session)]
        self._notes = [note for note in self._notes if note not in fitting]
        return " ".join(text for _, _, text in fitting)

    def used(self, key: str, session: str = "") -> float:
        """How much of the limit with this key has been used."""
        return next(cap.used(session) for cap in self._caps if cap.cap.key == key)

    def _enter(self, begins: Mapping[str, int]) -> None:
        before, self._begins = self._begins, dict(begins)
        for cap in self._caps:
            if before.get(cap.cap.per) != begins[cap.cap.per]:
                cap.restart()
                for call in self._own(cap):
                    cap.find_total(call.session).used += _amount(cap.cap, call)

    def _own(self, cap: _Cap) -> list[UsedCall]:
        """The calls of this engine that count and are not in the file."""
        since = self._begins[cap.cap.per]
        calls = [*(call for _, call in self._pending), *self._unplaced]
        return [call for call in calls if call.at >= since and cap in self._covered(call)]

    def _count(self, call: UsedCall) -> bool:
        close = False
        for cap in self._covered(call):
            total = cap.find_total(call.session)
            total.used += _amount(cap.cap, call)
            state = cap.cap.state(total.used)
            close |= state != "free"
            self._is_reached |= state == "reached"
        return close

    def _covered(self, call: UsedCall) -> list[_Cap]:
        kind = (call.agent, call.provider, call.model)
        if kind not in self._covering:
            if len(self._covering) >= MAX_KINDS:
                self._covering.clear()
            self._covering[kind] = [cap for cap in self._caps if cap.cap.covers(*kind)]
        return self._covering[kind]

    def _remember_model(self, call: UsedCall) -> None:
        self._models[call.session] = (call.provider, call.model)
        self._models.move_to_end(call.session)
        if len(self._models) > MAX_SESSIONS:
            self._models.popitem(last=False)


def _is_reached(cap: _Cap) -> bool:
    totals = cap.sessions.values() if cap.cap.per == "session" else (cap.total,)
    return any(cap.cap.state(total.used) == "reached" for total in totals)


def _amount(cap: SpendingCap, call: UsedCall) -> float:
    return call.usd if cap.unit == "usd" else call.tokens
