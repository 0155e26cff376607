"""What is asked of the metrics file. Every answer comes from sums of hours and days, or is a few rows by an index, so that a
million calls cost no more than a thousand; none writes anything.

The law: the totals of a range are the sum of its buckets, and the parts of a split, the one with `rest` included, add up to
the whole. `now` is in milliseconds since 1970. What SQLite says is the caller's matter (`database.reported`).
"""

from toolguard_engine.metrics.queries.calls import models, overview, timeseries
from toolguard_engine.metrics.queries.feeds import calls_after, decisions, decisions_after, live, newest
from toolguard_engine.metrics.queries.gateways import gateway, gateways, known
from toolguard_engine.metrics.queries.guard import SAVED_PER_LOOP, guard
from toolguard_engine.metrics.queries.usage import Usage, usage

__all__ = [
    "SAVED_PER_LOOP",
    "Usage",
    "calls_after",
    "decisions",
    "decisions_after",
    "gateway",
    "gateways",
    "guard",
    "known",
    "live",
    "models",
    "newest",
    "overview",
    "timeseries",
    "usage",
]
