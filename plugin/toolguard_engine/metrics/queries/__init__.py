"""Queries of the metrics file. Results come from sums of hours and days, or from a few rows by an index, so that a million
calls cost no more than a thousand. Nothing is written.

Invariants: the totals of a range are the sum of its buckets, and the parts of a split, including `rest`, add up to the
whole. `now` is in milliseconds since 1970. SQLite's errors are left to the caller (`database.reported`).
"""

from toolguard_engine.metrics.queries import undoable
from toolguard_engine.metrics.queries.call_totals import models, overview, timeseries
from toolguard_engine.metrics.queries.decision_totals import SAVED_PER_LOOP, guard
from toolguard_engine.metrics.queries.feeds import DecisionFilter, calls_after, decisions, decisions_after, newest
from toolguard_engine.metrics.queries.gateway_totals import gateway, gateways, known
from toolguard_engine.metrics.queries.timelines import TimelineFilter, search, timeline
from toolguard_engine.metrics.queries.usage_totals import UsageShares, usage

__all__ = [
    "SAVED_PER_LOOP",
    "DecisionFilter",
    "TimelineFilter",
    "UsageShares",
    "calls_after",
    "decisions",
    "decisions_after",
    "gateway",
    "gateways",
    "guard",
    "known",
    "models",
    "newest",
    "overview",
    "search",
    "timeline",
    "timeseries",
    "undoable",
    "usage",
]
