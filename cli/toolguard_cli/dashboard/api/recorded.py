"""Queries of the recorded metrics. Read-only."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, structs

from toolguard_cli.dashboard import code_words
from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.request_context import Query, RequestContext
from toolguard_engine.metrics import queries, result_types
from toolguard_engine.metrics.result_types import Range, Split

Name = Annotated[str, Meta(max_length=200)]
Limit = Annotated[int, Meta(ge=1, le=200)]
RowId = Annotated[int, Meta(ge=1, le=2**63 - 1)]


class Ranged(Query, frozen=True):
    range: Range = "24h"


class Drawn(Ranged, frozen=True):
    by: Split | UnsetType = UNSET
    gateway: Name = ""
    model: Name = ""


class Of(Ranged, frozen=True):
    gateway: Name = ""


class One(Ranged, frozen=True, kw_only=True):
    id: Name


class DecisionFeed(Query, frozen=True):
    """`text`: anywhere in a decision; the others are exact. Empty for all."""

    limit: Limit = 50
    before: RowId | UnsetType = UNSET
    gateway: Name = ""
    kind: Name = ""
    agent: Name = ""
    code: Name = ""
    nonce: Name = ""
    text: Name = ""


def overview(visit: RequestContext, asked: Ranged) -> result_types.MetricsOverview:
    with visit.metrics() as db:
        return queries.overview(db, asked.range, visit.now)


def timeseries(visit: RequestContext, asked: Drawn) -> result_types.Timeseries:
    by = asked.by if isinstance(asked.by, str) else None
    with visit.metrics() as db:
        return queries.timeseries(db, asked.range, visit.now, by, asked.gateway, asked.model)


def gateways(visit: RequestContext, asked: Ranged) -> result_types.Gateways:
    with visit.metrics() as db:
        return queries.gateways(db, asked.range, visit.now)


def gateway(visit: RequestContext, asked: One) -> result_types.GatewayTotals:
    with visit.metrics() as db:
        totals = queries.gateway(db, asked.id, asked.range, visit.now)
    if totals is None:
        raise ApiError(404, "gateway", "no gateway has that name", "/api/gateways lists the known ones")
    return totals


def models(visit: RequestContext, asked: Ranged) -> result_types.Models:
    with visit.metrics() as db:
        return queries.models(db, asked.range, visit.now)


def decisions(visit: RequestContext, asked: DecisionFeed) -> result_types.Decisions:
    before = asked.before if isinstance(asked.before, int) else None
    with visit.metrics() as db:
        wanted = queries.DecisionFilter(**{name: getattr(asked, name) for name in queries.DecisionFilter._fields})
        listed = queries.decisions(db, asked.limit, before, wanted)
        return structs.replace(listed, decisions=queries.undoable.decisions(db, listed.decisions))


def guard(visit: RequestContext, asked: Of) -> result_types.GuardOverview:
    with visit.metrics() as db:
        overview = queries.guard(db, asked.range, visit.now, asked.gateway)
    return structs.replace(overview, words=code_words.known([*overview.codes]))
