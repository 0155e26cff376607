"""Calls and costs: in total, over time, by model."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from toolguard_engine.metrics.queries import sums
from toolguard_engine.metrics.queries.decision_totals import counted
from toolguard_engine.metrics.queries.row_values import added, most_expensive, whole
from toolguard_engine.metrics.queries.time_ranges import Span, span
from toolguard_engine.metrics.result_types import (
    MetricsOverview,
    ModelRow,
    Models,
    Range,
    Series,
    Share,
    Split,
    Timeseries,
    Totals,
)

TOP = 20
"""How many gateways and models an overview lists."""

MAX_SERIES = 8
MAX_MODELS = 500
_SERIES = ("calls", "input", "output", "cache_read", "cache_write", "total", "cost_usd", "estimated_usd")


def overview(connection: sqlite3.Connection, asked: Range, now: int) -> MetricsOverview:
    """Everything in a range (`now`: milliseconds since 1970), with the most expensive gateways and models."""
    over = span(asked, now)
    totals_by_key = sums.add_up(connection, ("gateway", "model", "provider"), over)
    gateways, models = folded(totals_by_key, 0), folded(totals_by_key, 1, 2)
    since, last = connection.execute(
        "SELECT (SELECT min(at) FROM toolguard_days), (SELECT max(at) FROM toolguard_calls WHERE at <= ?)", (now,)
    ).fetchone()
    return MetricsOverview(
        range=asked,
        start=over.start,
        now=now,
        totals=added(totals_by_key.values()),
        ended=_all(connection, over.ended),
        previous=_all(connection, over.ended.before) if _reaches(connection, over.ended.before) else None,
        gateways=most_expensive((Share(name, totals) for (name,), totals in gateways.items()), TOP),
        models=most_expensive((Share(name, totals, provider) for (name, provider), totals in models.items()), TOP),
        guard=counted(connection, over),
        since=None if since is None else whole(since),
        last=None if last is None else whole(last),
    )


def timeseries(
    connection: sqlite3.Connection, asked: Range, now: int, by: Split | None = None, gateway: str = "", model: str = ""
) -> Timeseries:
    """One series, or with `by` one for each of the most expensive and one for the rest. Empty `gateway`, `model`: all."""
    over = span(asked, now)
    where = {column: name for column, name in (("gateway", gateway), ("model", model)) if name}
    totals_by_key = sums.by_bucket(connection, (by,) if by else (), over, where)
    ranked = most_expensive(
        (Share(key[0] if key else "", added(row.values())) for key, row in totals_by_key.items()), len(totals_by_key)
    )
    top = [_series(one.name, totals_by_key[one.name,] if by else totals_by_key[()], over) for one in ranked[:MAX_SERIES]]
    if others := [totals_by_key[one.name,] for one in ranked[MAX_SERIES:]]:
        merged = {at: added(row[at] for row in others if at in row) for at in range(over.buckets)}
        top.append(_series("", merged, over, rest=True))
    return Timeseries(asked, over.bucket_ms, over.begins, top or ([] if by else [_series("", {}, over)]))


def models(connection: sqlite3.Connection, asked: Range, now: int) -> Models:
    """Every model of a range, the most expensive first."""
    totals_by_key = sums.add_up(connection, ("model", "provider"), span(asked, now))
    every = added(totals_by_key.values())
    shares = most_expensive(
        (Share(name, totals, provider) for (name, provider), totals in totals_by_key.items()), MAX_MODELS
    )
    priced = _priced(connection, span(asked, now))
    return Models(asked, [_model(one, every, priced.get((one.name, one.provider), Totals())) for one in shares])


def folded(totals_by_key: Mapping[sums.Key, Totals], *places: int) -> dict[sums.Key, Totals]:
    """The sums by these parts of their keys only."""
    groups: dict[sums.Key, list[Totals]] = {}
    for key, totals in totals_by_key.items():
        groups.setdefault(tuple(key[place] for place in places), []).append(totals)
    return {key: added(days) for key, days in groups.items()}


def _all(connection: sqlite3.Connection, over: Span) -> Totals:
    return added(sums.add_up(connection, (), over).values())


def _reaches(connection: sqlite3.Connection, over: Span) -> bool:
    """Whether earlier data exists: otherwise recording began within the range, or its first part was removed."""
    (earlier,) = connection.execute(f"SELECT EXISTS (SELECT 1 FROM {over.table} WHERE at < ?)", (over.start,)).fetchone()  # noqa: S608
    return bool(earlier)


def _series(name: str, buckets: Mapping[int, Totals], over: Span, *, rest: bool = False) -> Series:
    nothing = Totals()
    days = [buckets.get(at, nothing) for at in range(over.buckets)]
    columns: dict[str, list[Any]] = {column: [getattr(one, column) for one in days] for column in _SERIES}
    return Series(name, rest=rest, **columns)


def _priced(connection: sqlite3.Connection, over: Span) -> dict[sums.Key, Totals]:
    """The sums of each model in which the cost of all calls is known: tokens and cost that belong together."""
    return sums.add_up(connection, ("model", "provider"), over, only="priced >= calls AND priced > 0")


def _model(one: Share, every: Totals, priced: Totals) -> ModelRow:
    sums_of = one.totals
    return ModelRow(
        model=one.name,
        provider=one.provider,
        totals=sums_of,
        token_share=_part(sums_of.total, every.total),
        cost_share=_part(sums_of.cost_usd, every.cost_usd),
        cost_per_1k=priced.cost_usd / priced.total * 1000 if priced.total else None,
        mean_ms=sums_of.duration_ms / sums_of.timed if sums_of.timed else None,
    )


def _part(of: float, everything: float) -> float:
    return min(1.0, of / everything) if everything else 0.0
