"""`/metrics`: what happened since the day (UTC) on which this server started, and how things stand, for Prometheus.

The law: a counter never goes down while the server runs. So it counts from a fixed day on, and which series are told by name
is settled when they are first seen; all further ones are added up as `other`.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from toolguard_cli.dashboard import gateways
from toolguard_cli.dashboard.api import pending
from toolguard_cli.dashboard.visit import Query, Site, Visit
from toolguard_engine import answers
from toolguard_engine.metrics.record import DAY_MS
from toolguard_engine.stores import engines
from toolguard_engine.stores.killswitch import KillSwitch

MOST = 100
"""Combinations of gateway, provider and model, and of gateway and kind, that are told by name."""

MAX_LABEL = 100
OTHER = "other"
_CALLS = """
SELECT gateway, provider, model, sum(calls), sum(failed), sum(input), sum(output), sum(cache_read), sum(cache_write),
    sum(cost_usd - estimated_usd), sum(estimated_usd)
FROM toolguard_days WHERE at >= ? GROUP BY gateway, provider, model
"""
_KINDS = "SELECT gateway, kind, sum(verdicts) FROM toolguard_verdict_days WHERE at >= ? GROUP BY gateway, kind"
_MODEL = ("gateway", "provider", "model")
_TOKENS = ("input", "output", "cache_read", "cache_write")
Rows = dict[tuple[str, ...], list[float]]


def scrape(visit: Visit, asked: Query) -> bytes:
    del asked
    registry = CollectorRegistry(auto_describe=False)
    with visit.metrics() as db:
        registry.register(_Families([*_counted(visit.site, db), *_standing(visit)]))
    return generate_latest(registry)


class _Families(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _counted(site: Site, db: sqlite3.Connection) -> Iterator[Metric]:
    first = site.started - site.started % DAY_MS
    calls = CounterMetricFamily("toolguard_calls", "Model calls.", labels=[*_MODEL, "outcome"])
    tokens = CounterMetricFamily("toolguard_tokens", "Tokens of model calls.", labels=[*_MODEL, "kind"])
    cost = CounterMetricFamily("toolguard_cost_usd", "Cost of model calls in USD.", labels=[*_MODEL, "estimated"])
    for key, (count, failed, *rest) in _bounded(site, "calls", db.execute(_CALLS, (first,)), len(_MODEL)).items():
        calls.add_metric([*key, "completed"], count - failed)
        calls.add_metric([*key, "failed"], failed)
        for kind, value in zip(_TOKENS, rest, strict=False):
            tokens.add_metric([*key, kind], value)
        for estimated, value in zip(("false", "true"), rest[len(_TOKENS) :], strict=True):
            cost.add_metric([*key, estimated], max(0.0, value))
    decisions = CounterMetricFamily("toolguard_decisions", "What the guard did.", labels=["gateway", "kind"])
    for key, (count,) in _bounded(site, "kinds", db.execute(_KINDS, (first,)), 2).items():
        decisions.add_metric(list(key), count)
    yield from (calls, tokens, cost, decisions)


def _bounded(site: Site, name: str, rows: Iterable[tuple[object, ...]], labels: int) -> Rows:
    """The rows by their first columns; of those beyond the first `MOST` ones the sum."""
    named = site.series.setdefault(name, set())
    found: defaultdict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        key = tuple(answers.cut(str(value), MAX_LABEL) for value in row[:labels])
        if key not in named and len(named) < MOST:
            named.add(key)
        sums = found[key if key in named else (OTHER,) * labels]
        values = [float(value) if isinstance(value, int | float) else 0.0 for value in row[labels:]]
        sums[:] = [one + other for one, other in zip(sums or [0.0] * len(values), values, strict=True)]
    return found


def _standing(visit: Visit) -> Iterator[Metric]:
    found = gateways.watched(visit)[0]
    waiting = pending.listed(visit, found, []).pending
    waits = GaugeMetricFamily("toolguard_pending", "Held calls that wait for a person.", labels=["gateway"])
    switch = GaugeMetricFamily("toolguard_kill_switch", "Whether the kill switch is on.", labels=["gateway"])
    up = GaugeMetricFamily("toolguard_gateway_up", "Whether the gateway runs with its engine.", labels=["gateway"])
    for each in found:
        label = [answers.cut(each.id, MAX_LABEL)]
        waits.add_metric(label, sum(one.gateway == each.id and one.status == "pending" for one in waiting))
        switch.add_metric(label, KillSwitch(each.places.state_dir).thrown() is not None)
        up.add_metric(label, bool(engines.running(each.places.state_dir)))
    yield from (waits, switch, up)
