"""How an agent stands in one session: what it has risked, how far it is trusted, what it did since a person last looked.

Pure; `stores.sqlite.standings` keeps it. Invariants: a checkpoint (an approval that the budget asked for, or a command)
refills the budget and resets the drift counts; trust only ever moves by `layers.budget.TRUST`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, structs

from toolguard_engine.model.call import Call

MAX_STANDINGS = 10_000
"""The least recently used one is forgotten first."""

IDLE_SECONDS = 7 * 86_400.0
"""A session that was not active for so long starts again; on disk it is as old as engines saw it become. A week: an agent
that works on weekdays does not get its budget back by a weekend, and what was done in a conversation that ended last week no
longer counts."""

EXACT = 9
"""Decimals to which sums are rounded, so that twenty costs of 0.05 make 1.0 and not a trifle more or less."""

Key = tuple[str, str]
"""Agent and session."""

SECONDS = 60
"""Length of `Seen.recent`."""

SPAWNED = ("subagent", "acp")
"""Kinds of sessions that an agent begins by itself."""

_KINDS = frozenset([*SPAWNED, "cron", "hook", "boot"])
"""Kinds of which each run or task may have a session of its own: `agent:main:subagent:<uuid>`, `hook:<uuid>`."""

Name = Annotated[str, Meta(max_length=100_000)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Time = Annotated[float, Meta(ge=0, le=1e11)]
Sum = Annotated[float, Meta(ge=0, le=1e12)]
Trust = Annotated[float, Meta(ge=0, le=1)]
Codes = Annotated[list[Annotated[str, Meta(max_length=100)]], Meta(max_length=100)]


class Signal(msgspec.Struct, frozen=True):
    """Why a person should look. `code` is stable (`budget.exhausted`, `drift.speed`), `reason` one sentence."""

    code: str
    reason: str


class Seen(msgspec.Struct):
    """What an agent did since a person last looked, for the signals in `layers.autonomy.drift`.

    `since`: when that was, or the first call; 0 where not known yet. `highest`: the highest level so far (0 SAFE to 4
    CRITICAL), `rises`: how often it was exceeded. `resources`: digest of a path, host or recipient -> calls on it.
    `recent`: calls in each second of the minute that ends at `second` (seconds since 1970), at the place `second % 60`;
    `in_minute`: their sum.
    """

    since: Time = 0.0
    highest: Annotated[int, Meta(ge=0, le=4)] = 0
    rises: Count = 0
    outward: Count = 0
    warnings: Count = 0
    resources: Annotated[dict[Count, Count], Meta(max_length=1_000)] = {}
    recent: Annotated[list[Count], Meta(max_length=SECONDS)] = []
    second: Count = 0
    in_minute: Count = 0

    @property
    def is_sound(self) -> bool:
        """Whether its parts fit together."""
        return len(self.recent) in (0, SECONDS) and self.in_minute == sum(self.recent)


class Standing(msgspec.Struct, weakref=True):
    """What one agent has spent, its trust and its drift in one place (`place_of`). Times are seconds since 1970. The bounds
    hold for what is decoded.

    `spent`: of `budget.size`, more than that where nothing was held. `streak`: clean calls in a row. `epoch`: checkpoints
    so far. `reported` (stored as `told`): codes of the signals reported since. `began`: the trust it began with.
    """

    agent: Name
    session: Name
    trust: Trust = 0.7
    spent: Sum = 0.0
    streak: Count = 0
    epoch: Count = 0
    touched: Time = 0.0
    reported: Codes = msgspec.field(default_factory=list, name="told")
    seen: Seen = msgspec.field(default_factory=Seen)
    began: Trust = 0.7

    @property
    def key(self) -> Key:
        return self.agent, self.session


class Standings:
    """All of them, the idle ones forgotten."""

    def __init__(self) -> None:
        self._known: OrderedDict[Key, Standing] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def find(self, agent: str, place: str) -> Standing | None:
        """`place`: see `place_of`."""
        return self._known.get((agent, place))

    def get(self, agent: str, place: str, trust: float) -> Standing:
        """The one that is known, else a new one that begins with this trust."""
        key = agent, place
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            return known
        made = Standing(agent, place, trust, began=trust)
        self.put(made)
        return made

    def put(self, standing: Standing) -> None:
        """Replaces what was known."""
        self._known[standing.key] = standing
        self._known.move_to_end(standing.key)
        while len(self._known) > MAX_STANDINGS:
            self._known.popitem(last=False)

    def within(self, session: str) -> list[Standing]:
        """Those of this session, and what its agents began by themselves; all where it is empty."""
        if not session:
            return list(self._known.values())
        place = place_in(session)
        standings = [standing for standing in self._known.values() if standing.session == place]
        agents = {standing.agent for standing in standings} | {_agent_of(session)}
        return standings + [
            standing for agent in sorted(agents) for standing in self.spawned(agent) if standing.session != place
        ]

    def spawned(self, agent: str) -> list[Standing]:
        """Those of the sessions that an agent began by itself."""
        places = [f"agent:{agent}:{kind}" for kind in SPAWNED]
        return [known for place in places if (known := self.find(agent, place))]

    def sweep(self, now: float) -> None:
        for key, standing in list(self._known.items()):
            standing.touched = standing.touched or now  # what it did was told without a time
            if standing.touched < now - IDLE_SECONDS:
                del self._known[key]


def place_of(call: Call) -> str:
    """What its standing is kept under, beside its agent. Calls of no known session stand together, whatever their run."""
    return place_in(call.session)


def place_in(session: str) -> str:
    """The session; of those that come anew with each run or task their kind, so that none begins with a full budget."""
    head, _, rest = session.partition(":")
    if head in _KINDS and rest:
        return head
    if head != "agent":
        return session
    agent, _, rest = rest.partition(":")
    kind = rest.partition(":")[0]
    return f"agent:{agent}:{kind}" if kind in _KINDS else session


def _agent_of(session: str) -> str:
    head, agent, *_ = [*session.split(":", 2), ""]
    return agent if head == "agent" else ""


class Base(NamedTuple):
    """What an engine last read or wrote of a standing, of what may only change by what happens. See `merged`."""

    epoch: int = 0
    spent: float = 0.0
    trust: float = 0.0
    since: float = 0.0
    warnings: int = 0
    reported: tuple[str, ...] = ()

    @classmethod
    def copy(cls, standing: Standing) -> Base:
        return cls(
            standing.epoch,
            standing.spent,
            standing.trust,
            standing.seen.since,
            standing.seen.warnings,
            tuple(standing.reported),
        )

    @classmethod
    def fresh(cls, standing: Standing) -> Base:
        """Returns the base of a standing that is not on disk as far as its engine knows."""
        return cls(epoch=standing.epoch, trust=standing.began)


def merged(ours: Standing, base: Base, theirs: Standing) -> Standing:
    """What two engines that share a store make of one standing in the same epoch: what happened here since `base` is added.

    So do spending, trust, warnings and reports. If a person wrote meanwhile, what they saw does not count again; of
    the rest of `seen` the larger figures stay.
    """
    if base.epoch != ours.epoch:  # there was a checkpoint here, and another one there
        base = Base(ours.epoch, trust=base.trust, since=base.since)
    trust = round(theirs.trust + ours.trust - base.trust, EXACT)
    dropped = {code for code in base.reported if code not in ours.reported}
    reported = [code for code in theirs.reported if code not in dropped]
    return structs.replace(
        ours,
        trust=min(1.0, max(0.0, trust)),
        spent=max(0.0, round(theirs.spent + ours.spent - base.spent, EXACT)),
        streak=min(ours.streak, theirs.streak),
        touched=max(ours.touched, theirs.touched),
        reported=reported + [code for code in ours.reported if code not in theirs.reported and code not in base.reported],
        seen=_merged_seen(ours.seen, base, theirs.seen),
    )


def _merged_seen(ours: Seen, base: Base, theirs: Seen) -> Seen:
    if base.since and ours.since > max(base.since, theirs.since):  # a person wrote here
        return ours
    new = max(0, ours.warnings - base.warnings)
    if base.since and theirs.since > base.since:  # and there
        return structs.replace(theirs, warnings=theirs.warnings + new)
    return structs.replace(
        ours,
        highest=max(ours.highest, theirs.highest),
        rises=max(ours.rises, theirs.rises),
        outward=max(ours.outward, theirs.outward),
        warnings=theirs.warnings + new,
    )
