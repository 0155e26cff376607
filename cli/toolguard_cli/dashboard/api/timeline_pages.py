"""What agents did, in pages. Read-only."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from toolguard_cli.dashboard.api.recorded import Limit, Name
from toolguard_cli.dashboard.request_context import Query, RequestContext
from toolguard_engine.metrics import queries, result_types

DAY_MS = 86_400_000
Moment = Annotated[int, Meta(ge=0, le=2**53 - 1)]
PageKey = Annotated[str, Meta(pattern=r"^([0-9]{1,19}\.[0-9]{1,19}\.[0-9]{1,19})?$")]


class Happened(Query, frozen=True):
    """`since`: a day ago by default; `until`: now; both in milliseconds since 1970. `before`: `next` of an earlier answer;
    `text`: anywhere in an event; the others are exact. Empty for all."""

    since: Moment | UnsetType = UNSET
    until: Moment | UnsetType = UNSET
    before: PageKey = ""
    limit: Limit = 200
    gateway: Name = ""
    agent: Name = ""
    session: Name = ""
    run: Name = ""
    text: Name = ""


def timeline(visit: RequestContext, asked: Happened) -> result_types.Timeline:
    since = asked.since if isinstance(asked.since, int) else visit.now - DAY_MS
    until = asked.until if isinstance(asked.until, int) else visit.now + 1
    wanted = queries.TimelineFilter(**{name: getattr(asked, name) for name in queries.TimelineFilter._fields})
    with visit.metrics() as db:
        return queries.undoable.timeline(db, queries.timeline(db, since, until, wanted, asked.limit, asked.before))
