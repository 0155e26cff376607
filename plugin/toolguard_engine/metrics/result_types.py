"""Queries of the metrics file and their results: the values of the dashboard's API and of `toolguard usage`.

Times are milliseconds since 1970, UTC; money is USD; an unknown cost is null. In JSON the names are camelCase. Texts come
from models, files and the network: show them as text only.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Range = Literal["24h", "7d", "30d"]
Split = Literal["gateway", "model", "agent"]


class Shape(msgspec.Struct, frozen=True, rename="camel"):
    """The base of all of them."""


class Totals(Shape, frozen=True):
    """Sums of model calls. `priced`: calls with a known cost; `estimated_usd`: the part of `cost_usd` from our own price
    table; `timed`: calls with a known duration, `duration_ms` their sum. `failed`: calls that did not complete."""

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
    """What the guard did. `judged`: verdicts on calls (allowed, held, blocked). `stopped`: ended runs; `loops`: those that
    were loops. `requests_saved`: an estimate, `queries.SAVED_PER_LOOP` for each loop."""

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


class MetricsOverview(Shape, frozen=True):
    """`ended`: without the running bucket, to compare with `previous`, the same length of time before; null if that is not
    wholly known. `since`, `last`: the day (UTC) of the first known call, and the newest one; null if there is none."""

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
    """Columns beside `Timeseries.at`. `rest`: everything outside the other series."""

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
    """`at`: the start of each bucket of the range, including empty ones."""

    range: Range
    bucket_ms: int
    at: list[int]
    series: list[Series]


class ModelRow(Shape, frozen=True):
    """`token_share`, `cost_share`: 0 to 1. `cost_per_1k`: USD for 1,000 tokens of the calls with a known cost; `mean_ms` of
    those with a known duration."""

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
    """The newest first. `next`: the value of `before` for older ones; null if there are none. `answers`: what became of the
    held calls among them, the oldest first."""

    decisions: list[DecisionRow]
    next: int | None
    answers: list[DecisionRow] = []


class TimelineEvent(Shape, frozen=True):
    """One model call or one thing that was decided: one of both is null. `run`: of a model call, the run of its session that
    was decided about last before it; empty if that is not known."""

    at: int
    agent: str
    session: str
    run: str
    gateway: str
    call: CallRow | None = None
    decision: DecisionRow | None = None


class Timeline(Shape, frozen=True):
    """The newest first. `totals`: of the model calls among them. `since`: how far back everything is here. `next`: finds
    the earlier ones; empty if there are none."""

    events: list[TimelineEvent]
    since: int
    until: int
    is_cut: bool
    totals: Totals
    next: str = ""


class GuardOverview(Shape, frozen=True):
    """`kinds`: how many of each kind in each bucket of `at`; `loops`: those of `stop` that were loops. `words`: what the
    codes mean, as far as that is known."""

    range: Range
    bucket_ms: int
    at: list[int]
    kinds: dict[str, list[int]]
    loops: list[int]
    totals: GuardTotals
    codes: dict[str, int]
    saved_per_loop: int
    words: dict[str, str] = {}


class GatewayRow(Shape, frozen=True):
    """A gateway as the metrics know it. `seen`: when its engine last wrote; null if never."""

    id: str
    totals: Totals
    models: list[Share]
    host: str = ""
    version: str = ""
    seen: int | None = None


class Gateways(Shape, frozen=True):
    range: Range
    gateways: list[GatewayRow]


class GatewayTotals(Shape, frozen=True):
    """One gateway in detail. `days`: the totals of the whole days (UTC), from `days_start` on, that sessions and channels
    cover: they are parts of these, not of the range."""

    range: Range
    gateway: GatewayRow
    agents: list[Share]
    sessions: list[Share]
    channels: list[Share]
    days: Totals
    days_start: int


class Known(Shape, frozen=True):
    """A gateway that writes here, with its paths: never shown outside of this machine."""

    id: str
    state_dir: str
    config_path: str
    nonces: str
    host: str
    version: str
    mode: str
    pid: int
    seen: int


class CapUse(Shape, frozen=True):
    """How much of one amount of `limits` is used. `key` names it, `words` says it (`$5.00 a day`), `unit` is `usd` or
    `tokens`. `begins`, `ends`: the running period. `forecast`: the use at its end at the present pace; `due`: when the
    amount is reached at that pace, null if not in this period. For a limit per session: `session` and `gateway` of the
    session that used most, and no forecast. `unpriced`: models that it covers and whose cost is unknown: their calls do not
    count in USD."""

    key: str
    words: str
    per: str
    unit: str
    amount: float
    used: float
    share: float
    state: Literal["free", "near", "reached"]
    begins: int
    ends: int
    agent: str = ""
    model: str = ""
    forecast: float | None = None
    due: int | None = None
    session: str = ""
    gateway: str = ""
    unpriced: list[str] = []
    raise_command: str = ""


class PeriodForecast(Shape, frozen=True):
    """The running day or month (UTC), and its end at the present pace: that of the last 24 hours for the day, of the last 7
    days for the month, or of the time since recording began if that is shorter. `estimated`: part of it has an estimated
    price; `partly`: part of it has none and is missing in USD."""

    begins: int
    ends: int
    used_usd: float
    used_tokens: int
    forecast_usd: float
    forecast_tokens: int
    estimated: bool
    partly: bool


class SpendingForecast(Shape, frozen=True):
    day: PeriodForecast
    month: PeriodForecast


class Savings(Shape, frozen=True):
    """What ended loops would have cost: `loops` times `requests_per_loop` requests, each at `usd_per_request`, the mean cost
    of the calls of the same range whose cost is known. An estimate, rather low: requests of a loop are longer than the mean.
    `usd`: null if no cost is known."""

    loops: int
    requests: int
    requests_per_loop: int
    usd_per_request: float | None
    usd: float | None
