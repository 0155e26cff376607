"""What is used of the limits, where the running day and month will end, and what ended loops would have cost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from toolguard_engine.config.settings import LimitPeriod
from toolguard_engine.config.spending_limits import DAY_MS, SpendingCap, period
from toolguard_engine.metrics.queries.decision_totals import SAVED_PER_LOOP
from toolguard_engine.metrics.queries.row_values import money, text, whole
from toolguard_engine.metrics.queries.sums import MAX_NAME
from toolguard_engine.metrics.result_types import CapUse, GuardTotals, PeriodForecast, Savings, SpendingForecast, Totals
from toolguard_engine.metrics.row_writer import HOUR_MS

MAX_UNPRICED = 20
PACE_MS: dict[LimitPeriod, int] = {"day": DAY_MS, "month": 7 * DAY_MS}
"""How long back the pace is measured."""

_SUMS = "total(total), total(cost_usd), total(estimated_usd), total(calls - priced)"
_OF_MODELS = f"SELECT agent, provider, model, {_SUMS} FROM {{}} WHERE at >= ? AND at < ? GROUP BY 1, 2, 3"  # noqa: S608
_OF_SESSIONS = f"SELECT agent, gateway, session, {_SUMS} FROM toolguard_sessions WHERE at = ? GROUP BY 1, 2, 3"  # noqa: S608
_BEGAN = "SELECT min(at) FROM toolguard_hours"


class SpendingRow(NamedTuple):
    """Sums of one agent with one model, or in one session: then `provider` and `model` are gateway and session. `unpriced`:
    the number of calls without a cost."""

    agent: str
    provider: str
    model: str
    tokens: int
    usd: float
    estimated: float = 0.0
    unpriced: int = 0

    def amount(self, cap: SpendingCap) -> float:
        return self.usd if cap.unit == "usd" else self.tokens


def rows(connection: sqlite3.Connection, per: LimitPeriod, now: int) -> list[SpendingRow]:
    """The sums of the running period: by session, or by agent and model."""
    begins, ends = period(per, now)
    if per == "session":
        return _rows(connection, _OF_SESSIONS, (begins,))
    return _rows(connection, _OF_MODELS.format("toolguard_days"), (begins, ends))


def cap_uses(connection: sqlite3.Connection, caps: Sequence[SpendingCap], now: int) -> list[CapUse]:
    """One for each cap, in their order."""
    rows_by_period = {per: rows(connection, per, now) for per in {cap.per for cap in caps}}
    paces = {per: _pace(connection, per, now) for per in rows_by_period if per != "session"}
    return [
        _of_sessions(cap, rows_by_period[cap.per], now)
        if cap.per == "session"
        else _of_all(cap, rows_by_period[cap.per], paces[cap.per], now)
        for cap in caps
    ]


def forecast(connection: sqlite3.Connection, now: int) -> SpendingForecast:
    """Where the running day and the running month will end."""
    return SpendingForecast(*(_forecast(connection, per, now) for per in PACE_MS))


def savings(guard: GuardTotals, totals: Totals) -> Savings:
    """`guard`, `totals`: of the same range."""
    price = totals.cost_usd / totals.priced if totals.priced else None
    usd = None if price is None else money(price * guard.requests_saved)
    return Savings(guard.loops, guard.requests_saved, SAVED_PER_LOOP, price, usd)


class _Pace(NamedTuple):
    """What was used in `length` milliseconds."""

    rows: list[SpendingRow]
    length: int

    def until(self, end: int, now: int, used: float, amount: float) -> float:
        """The use at `end`. `amount`: of these rows."""
        return used + amount * (end - now) / self.length


def _pace(connection: sqlite3.Connection, per: LimitPeriod, now: int) -> _Pace:
    """The pace by whole hours, and the running one as far as it has gone."""
    start = now - now % HOUR_MS + HOUR_MS - PACE_MS[per]
    (began,) = connection.execute(_BEGAN).fetchone()
    start = max(start, min(began or now, now - HOUR_MS))
    return _Pace(_rows(connection, _OF_MODELS.format("toolguard_hours"), (start, now + 1)), max(now - start, HOUR_MS))


def _of_all(cap: SpendingCap, rows: list[SpendingRow], pace: _Pace, now: int) -> CapUse:
    covered = [row for row in rows if cap.covers(row.agent, row.provider, row.model)]
    used = _sum(cap, covered)
    recent = _sum(cap, (row for row in pace.rows if cap.covers(row.agent, row.provider, row.model)))
    _, ends = period(cap.per, now)
    until = pace.until(ends, now, used, recent)
    due = now + round((cap.amount - used) * pace.length / recent) if until > cap.amount > used else None
    unpriced = sorted({f"{row.provider}/{row.model}" for row in covered if row.tokens and not row.usd and row.unpriced})
    return _use(cap, used, now, forecast=until, due=due, unpriced=unpriced[:MAX_UNPRICED] if cap.unit == "usd" else [])


def _of_sessions(cap: SpendingCap, rows: list[SpendingRow], now: int) -> CapUse:
    covered = [row for row in rows if cap.agent in ("", row.agent)]
    most = max(covered, key=lambda row: row.amount(cap), default=None)
    if most is None:
        return _use(cap, 0.0, now)
    return _use(cap, most.amount(cap), now, session=most.model, gateway=most.provider)


def _use(  # noqa: PLR0913 - the members of a result
    cap: SpendingCap,
    used: float,
    now: int,
    *,
    forecast: float | None = None,
    due: int | None = None,
    session: str = "",
    gateway: str = "",
    unpriced: list[str] | None = None,
) -> CapUse:
    begins, ends = period(cap.per, now)
    return CapUse(
        key=cap.key,
        words=cap.words,
        per=cap.per,
        unit=cap.unit,
        amount=cap.amount,
        used=money(used),
        share=used / cap.amount,
        state=cap.state(used),
        begins=begins,
        ends=ends,
        agent=cap.agent,
        model=cap.model,
        forecast=None if forecast is None else money(forecast),
        due=due,
        session=session,
        gateway=gateway,
        unpriced=unpriced or [],
        raise_command=cap.raising(),
    )


def _forecast(connection: sqlite3.Connection, per: LimitPeriod, now: int) -> PeriodForecast:
    known, pace = rows(connection, per, now), _pace(connection, per, now)
    begins, ends = period(per, now)
    usd, tokens = sum(row.usd for row in known), sum(row.tokens for row in known)
    return PeriodForecast(
        begins=begins,
        ends=ends,
        used_usd=money(usd),
        used_tokens=whole(tokens),
        forecast_usd=money(pace.until(ends, now, usd, sum(row.usd for row in pace.rows))),
        forecast_tokens=whole(pace.until(ends, now, tokens, sum(row.tokens for row in pace.rows))),
        estimated=any(row.estimated for row in (*known, *pace.rows)),
        partly=any(row.unpriced and row.tokens and not row.usd for row in (*known, *pace.rows)),
    )


def _sum(cap: SpendingCap, rows: Iterable[SpendingRow]) -> float:
    return sum(row.amount(cap) for row in rows)


def _rows(connection: sqlite3.Connection, statement: str, values: tuple[int, ...]) -> list[SpendingRow]:
    return [_row(row) for row in connection.execute(statement, values)]


def _row(row: tuple[Any, ...]) -> SpendingRow:
    agent, provider, model = (text(value, MAX_NAME) for value in row[:3])
    return SpendingRow(agent, provider, model, whole(row[3]), money(row[4]), money(row[5]), whole(row[6]))
