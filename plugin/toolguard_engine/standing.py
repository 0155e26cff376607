"""How an agent stands in one session: what it has risked, how far it is trusted, what it did since a person last looked.

Pure; `stores.standings` keeps it. The law: a checkpoint (an approval that the budget asked for, or a person's command)
gives the whole budget back and forgets what drift was counted; trust only ever moves by `layers.budget.TRUST`.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from toolguard_engine.model import Call

MAX_STANDINGS = 10_000
"""The least recently used one is forgotten first."""

IDLE_SECONDS = 7 * 86_400.0
"""A session that nobody heard of for so long begins anew, in memory and on disk. A week: an agent that works on weekdays
does not get its budget back by a weekend, and what was done in a conversation that ended last week no longer counts."""

EXACT = 9
"""Decimals to which sums are rounded, so that twenty costs of 0.05 make 1.0 and not a trifle more or less."""

Key = tuple[str, str]
"""Agent and session."""


class Signal(msgspec.Struct, frozen=True):
    """Why a person should look. `code` is stable (`budget.exhausted`, `drift.speed`), `reason` one sentence."""

    code: str
    reason: str


class Seen(msgspec.Struct):
    """What an agent did since a person last looked, for the signals in `layers.drift`.

    `since`: when that was, or the first call; 0 where not known yet. `highest`: the highest level so far (0 SAFE to 4
    CRITICAL), `rises`: how often it was exceeded. `resources`: digest of a path, host or recipient -> calls on it.
    `recent`: calls in each second of the minute that ends at `second` (seconds since 1970), at the place `second % 60`;
    `in_minute`: their sum.
    """

    since: float = 0.0
    highest: int = 0
    rises: int = 0
    outward: int = 0
    warnings: int = 0
    resources: dict[int, int] = {}
    recent: list[int] = []
    second: int = 0
    in_minute: int = 0


class Standing(msgspec.Struct):
    """Of one agent in one session. Times are seconds since 1970.

    `spent`: of `budget.size`, more than that where nothing was held. `streak`: clean calls in a row. `epoch`: checkpoints
    so far. `told`: codes of the signals that were told since the last one.
    """

    agent: str
    session: str
    trust: float = 0.7
    spent: float = 0.0
    streak: int = 0
    epoch: int = 0
    touched: float = 0.0
    told: list[str] = []
    seen: Seen = msgspec.field(default_factory=Seen)

    @property
    def key(self) -> Key:
        return self.agent, self.session


class Standings:
    """All of them, the idle ones forgotten.

    A call of no known session stands by its run; one of no known run either is nobody's: it gets a standing that is not
    kept, so that strangers never use up or refill each other's budget.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Key, Standing] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def find(self, agent: str, place: str) -> Standing | None:
        """`place`: the session, or the run where that is not known."""
        return self._known.get((agent, place))

    def of(self, agent: str, place: str, trust: float) -> Standing:
        """The one that is known, else a new one that begins with this trust."""
        key = agent, place
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            return known
        made = Standing(agent, place, trust)
        if place:
            self.put(made)
        return made

    def put(self, standing: Standing) -> None:
        """In the place of what was known."""
        self._known[standing.key] = standing
        self._known.move_to_end(standing.key)
        while len(self._known) > MAX_STANDINGS:
            self._known.popitem(last=False)

    def within(self, session: str) -> list[Standing]:
        """Those of this session, of all where it is empty."""
        return [each for each in self._known.values() if not session or each.session == session]

    def sweep(self, now: float) -> None:
        for key, each in list(self._known.items()):
            each.touched = each.touched or now  # what it did was told without a time
            if each.touched < now - IDLE_SECONDS:
                del self._known[key]


def place_of(call: Call) -> str:
    """What its standing is kept under, beside its agent."""
    return call.session or call.run
