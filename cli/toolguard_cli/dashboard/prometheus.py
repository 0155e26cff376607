"""`/metrics` for Prometheus: counters since this server started, and the current state.

Invariant: a counter starts at 0 and never decreases while the server runs, so that a restart counts nothing twice. What was
recorded of the current day (UTC) before the start is subtracted. The first `MOST` series keep their names; later ones are
summed as `other`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from toolguard_cli.dashboard import known_gateways, metrics_file
from toolguard_cli.dashboard.api import waiting_calls
from toolguard_cli.dashboard.request_context import Query, RequestContext, Site
from toolguard_engine.metrics.database import Connection, MetricsError
from toolguard_engine.metrics.row_writer import DAY_MS
from toolguard_engine.stores import open as stores
from toolguard_engine.wording import printable

MOST = 100
"""Series with their own labels: combinations of gateway, provider and model, and of gateway and kind."""

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
_SUMS = {"calls": (_CALLS, len(_MODEL)), "kinds": (_KINDS, 2)}
Rows = dict[tuple[str, ...], list[float]]


def begin(site: Site) -> None:
    with suppress(MetricsError), metrics_file.opened(site.settings.db) as db:
        _begin(site, db)


def _begin(site: Site, db: Connection) -> None:
    for name, (query, labels) in _SUMS.items():
        rows = db.execute(query, (_first(site),))
        site.base[name] = {row[:labels]: [_number(value) for value in row[labels:]] for row in rows}


def _first(site: Site) -> int:
    return site.started - site.started % DAY_MS


def scrape(visit: RequestContext, asked: Query) -> bytes:
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


def _counted(site: Site, db: Connection) -> Iterator[Metric]:
    if not site.base:  # the file could not be read at the start
        _begin(site, db)
    calls = CounterMetricFamily("toolguard_calls", "Model calls.", labels=[*_MODEL, "outcome"])
    tokens = CounterMetricFamily("toolguard_tokens", "Tokens of model calls.", labels=[*_MODEL, "kind"])
    cost = CounterMetricFamily("toolguard_cost_usd", "Cost of model calls in USD.", labels=[*_MODEL, "estimated"])
    for key, (count, failed, *rest) in _bounded(site, "calls", db).items():
        calls.add_metric([*key, "completed"], count - failed)
        calls.add_metric([*key, "failed"], failed)
        for kind, value in zip(_TOKENS, rest, strict=False):
            tokens.add_metric([*key, kind], value)
        for estimated, value in zip(("false", "true"), rest[len(_TOKENS) :], strict=True):
            cost.add_metric([*key, estimated], max(0.0, value))
    decisions = CounterMetricFamily("toolguard_decisions", "What the guard did.", labels=["gateway", "kind"])
    for key, (count,) in _bounded(site, "kinds", db).items():
        decisions.add_metric(list(key), count)
    yield from (calls, tokens, cost, decisions)


def _bounded(site: Site, name: str, db: Connection) -> Rows:
    """The rows by their label columns; those beyond the first `MOST` are summed."""
    query, labels = _SUMS[name]
    named, base = site.series.setdefault(name, set()), site.base[name]
    rows: defaultdict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in db.execute(query, (_first(site),)):
        key = tuple(printable.cut(str(value), MAX_LABEL) for value in row[:labels])
        if key not in named and len(named) < MOST:
            named.add(key)
        sums = rows[key if key in named else (OTHER,) * labels]
        values = [_number(value) for value in row[labels:]]
        values = [
            max(0.0, now - then) for now, then in zip(values, base.get(row[:labels], [0.0] * len(values)), strict=True)
        ]
        sums[:] = [one + other for one, other in zip(sums or [0.0] * len(values), values, strict=True)]
    return rows


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _standing(visit: RequestContext) -> Iterator[Metric]:
    gateways = known_gateways.watched(visit)[0]
    waiting = waiting_calls.listed(visit, gateways, []).pending
    waits = GaugeMetricFamily("toolguard_pending", "Held calls waiting for approval.", labels=["gateway"])
    switch = GaugeMetricFamily("toolguard_kill_switch", "Whether the kill switch is on.", labels=["gateway"])
    up = GaugeMetricFamily("toolguard_gateway_up", "Whether the gateway and engine are running.", labels=["gateway"])
    for gateway in gateways:
        label = [printable.cut(gateway.id, MAX_LABEL)]
        waits.add_metric(label, sum(one.gateway == gateway.id and one.status == "pending" for one in waiting))
        switch.add_metric(label, stores.kill_switch(gateway.places.state_dir).thrown() is not None)
        up.add_metric(label, bool(stores.engines(gateway.places.state_dir).running()))
    yield from (waits, switch, up)
