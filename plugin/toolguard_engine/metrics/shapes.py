"""What is asked of the metrics file, and what it answers: the values that the dashboard's API and `toolguard usage` show.

Times are milliseconds since 1970, UTC; money is USD; a cost that nobody knows is null. In JSON the names are camelCase.
Texts come from models, files and the network: they are shown as text and nothing else.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Range = Literal["24h", "7d", "30d"]
Split = Literal["gateway", "model", "agent"]


class Shape(msgspec.Struct, frozen=True, rename="camel"):
    """What all of them have in common."""


class Totals(Shape, frozen=True):
    """Sums of model calls. `priced`: calls whose cost is known; `estimated_usd`: the part of `cost_usd` that our own price
    table says; `timed`: calls whose duration is known, `duration_ms` their sum. `failed`: what did not complete."""

    calls: int = 0
    failed: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0
    priced: int = 0
    cost_usd: float = 0.0
    estimated_usd: float = 0.0
    timed: int = 0
    duration_ms: int = 0


class Share(Shape, frozen=True):
    """One gateway, model, agent, session or channel. `provider` of models only, `agent` and `gateway` of sessions."""

    name: str
    totals: Totals
    provider: str = ""
    agent: str = ""
    gateway: str = ""


class GuardTotals(Shape, frozen=True):
    """What the guard did. `judged`: verdicts on calls that reached it (allowed, held, blocked). `stopped`: ended runs;
    `loops`: those of them that were loops. `requests_saved`: an estimate, `queries.SAVED_PER_LOOP` for each loop."""

    judged: int = 0
    allowed: int = 0
    malformed: int = 0
    held: int = 0
    approved: int = 0
    denied: int = 0
    expired: int = 0
    blocked: int = 0
    stopped: int = 0
    loops: int = 0
    noted: int = 0
    security: int = 0
    requests_saved: int = 0


class Overview(Shape, frozen=True):
    """`ended`: without the running bucket, to compare with `previous`, exactly as much time right before; null where that is
    not wholly known. `since`, `last`: the day (UTC) of the first known call, and the newest one; null where none is."""

    range: Range
    start: int
    now: int
    totals: Totals
    ended: Totals
    previous: Totals | None
    gateways: list[Share]
    models: list[Share]
    guard: GuardTotals
    since: int | None
    last: int | None


class Series(Shape, frozen=True):
    """Columns beside `Timeseries.at`. `rest`: all that is in none of the other series."""

    name: str
    calls: list[int]
    input: list[int]
    output: list[int]
    cache_read: list[int]
    cache_write: list[int]
    total: list[int]
    cost_usd: list[float]
    estimated_usd: list[float]
    rest: bool = False


class Timeseries(Shape, frozen=True):
    """`at`: where each bucket begins, every one of the range, also those in which nothing happened."""

    range: Range
    bucket_ms: int
    at: list[int]
    series: list[Series]


class ModelRow(Shape, frozen=True):
    """`token_share`, `cost_share`: 0 to 1 of all. `cost_per_1k`: USD for 1,000 tokens of the calls whose cost is known;
    `mean_ms` of those whose duration is."""

    model: str
    provider: str
    totals: Totals
    token_share: float
    cost_share: float
    cost_per_1k: float | None = msgspec.field(name="costPer1k")
    mean_ms: float | None


class Models(Shape, frozen=True):
    range: Range
    models: list[ModelRow]


class CallRow(Shape, frozen=True):
    """One model call; `estimated`: its cost is from our own price table."""

    id: int
    at: int
    gateway: str
    agent: str
    session: str
    channel: str
    provider: str
    model: str
    input: int
    output: int
    cache_read: int
    cache_write: int
    total: int
    cost_usd: float | None
    estimated: bool
    duration_ms: int | None
    outcome: str


class Live(Shape, frozen=True):
    """The newest calls, the newest first."""

    calls: list[CallRow]


class DecisionRow(Shape, frozen=True):
    """One thing that the guard or a person decided (`kind`, see `002-guard.sql`). `shown`: the call, redacted."""

    id: int
    at: int
    gateway: str
    agent: str
    session: str
    run: str
    tool: str
    kind: str
    decision: str
    code: str
    reason: str
    nonce: str
    shown: str
    person: str
    place: str


class Decisions(Shape, frozen=True):
    """The newest first. `next`: what to ask for `before` to get older ones; null where there are none."""

    decisions: list[DecisionRow]
    next: int | None


class Guard(Shape, frozen=True):
    """`kinds`: how many of each kind in each bucket of `at`; `loops`: those of `stop` that were loops."""

    range: Range
    bucket_ms: int
    at: list[int]
    kinds: dict[str, list[int]]
    loops: list[int]
    totals: GuardTotals
    codes: dict[str, int]
    saved_per_loop: int


class GatewayRow(Shape, frozen=True):
    """A gateway as the metrics know it. `seen`: when its engine last wrote, null where it never did."""

    id: str
    totals: Totals
    models: list[Share]
    host: str = ""
    version: str = ""
    seen: int | None = None


class Gateways(Shape, frozen=True):
    range: Range
    gateways: list[GatewayRow]


class Gateway(Shape, frozen=True):
    """One gateway in detail."""

    range: Range
    gateway: GatewayRow
    agents: list[Share]
    sessions: list[Share]
    channels: list[Share]


class Known(Shape, frozen=True):
    """A gateway that writes here, and where it keeps things: never shown outside of this machine."""

    id: str
    state_dir: str
    config_path: str
    nonces: str
    host: str
    version: str
    mode: str
    pid: int
    seen: int
