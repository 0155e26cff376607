"""What was recorded, for the page. Nothing here writes."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from toolguard_cli.dashboard.problems import Wrong
from toolguard_cli.dashboard.visit import Query, Visit
from toolguard_engine.metrics import queries, shapes
from toolguard_engine.metrics.shapes import Range, Split

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


class Newest(Query, frozen=True):
    limit: Limit = 50


class Feed(Newest, frozen=True):
    before: RowId | UnsetType = UNSET
    gateway: Name = ""
    kind: Name = ""


def overview(visit: Visit, asked: Ranged) -> shapes.Overview:
    with visit.metrics() as db:
        return queries.overview(db, asked.range, visit.now)


def timeseries(visit: Visit, asked: Drawn) -> shapes.Timeseries:
    by = asked.by if isinstance(asked.by, str) else None
    with visit.metrics() as db:
        return queries.timeseries(db, asked.range, visit.now, by, asked.gateway, asked.model)


def gateways(visit: Visit, asked: Ranged) -> shapes.Gateways:
    with visit.metrics() as db:
        return queries.gateways(db, asked.range, visit.now)


def gateway(visit: Visit, asked: One) -> shapes.Gateway:
    with visit.metrics() as db:
        found = queries.gateway(db, asked.id, asked.range, visit.now)
    if found is None:
        raise Wrong(404, "gateway", "no gateway of that name is known", "/api/gateways names those that are")
    return found


def models(visit: Visit, asked: Ranged) -> shapes.Models:
    with visit.metrics() as db:
        return queries.models(db, asked.range, visit.now)


def live(visit: Visit, asked: Newest) -> shapes.Live:
    with visit.metrics() as db:
        return queries.live(db, asked.limit)


def decisions(visit: Visit, asked: Feed) -> shapes.Decisions:
    before = asked.before if isinstance(asked.before, int) else None
    with visit.metrics() as db:
        return queries.decisions(db, asked.limit, before, asked.gateway, asked.kind)


def guard(visit: Visit, asked: Of) -> shapes.Guard:
    with visit.metrics() as db:
        return queries.guard(db, asked.range, visit.now, asked.gateway)
