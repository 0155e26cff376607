"""What the guard did, from the sums of its verdicts."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable

from toolguard_engine.metrics.queries.row_values import EXACT, text, whole
from toolguard_engine.metrics.queries.sums import MAX_NAME
from toolguard_engine.metrics.queries.time_ranges import Span, span
from toolguard_engine.metrics.result_types import GuardOverview, GuardTotals, Range

SAVED_PER_LOOP = 43
"""Model requests that ending a loop saves: an estimate. `scripts/bench loops` lets a model that never gives up run against a
gateway without a guard until its 60th request, and replays those runs: toolguard with its defaults ends 5 of them with 219
requests unmade, 43.8 each; with all of `loopDetection` 10 with 391, 39.1 each. A model that gives up sooner saves less, one
that is not stopped at 60 requests more."""

ALLOWED = "allow"
REASONS = frozenset({"hold", "block", "malformed", "loop", "note", "would-refuse", "security", "error"})
"""Kinds whose code is the reason for the action on a call."""

MAX_KINDS = 40
MAX_CODES = 50
OTHERS = "other"
_LOOPS = ("loop.", "compaction_loop")
"""Code prefixes of ended runs that were loops; others were ended by the kill switch, or because they waited."""

_Row = tuple[int, str, str, int]
"""Bucket, kind, code, count."""


def guard(connection: sqlite3.Connection, asked: Range, now: int, gateway: str = "") -> GuardOverview:
    """Counts decisions over time and in total; only for this gateway, if one is named."""
    over = span(asked, now)
    rows = _rows(connection, over, gateway)
    return GuardOverview(
        range=asked,
        bucket_ms=over.bucket_ms,
        at=over.begins,
        kinds=_over_time(rows, over.buckets),
        loops=_loops_over_time(rows, over.buckets),
        totals=_totals(rows),
        codes=_codes(rows),
        saved_per_loop=SAVED_PER_LOOP,
    )


def counted(connection: sqlite3.Connection, over: Span) -> GuardTotals:
    """Totals of all gateways."""
    return _totals(_rows(connection, over, ""))


def _rows(connection: sqlite3.Connection, over: Span, gateway: str) -> list[_Row]:
    only, names = (" AND gateway = ?", (gateway,)) if gateway else ("", ())
    cursor = connection.execute(
        f"SELECT (at - {over.start:d}) / {over.bucket_ms:d}, kind, code, total(verdicts) FROM {over.verdict_table}"  # noqa: S608
        f" WHERE at >= ? AND at < ?{only} GROUP BY 1, 2, 3",
        (over.start, over.end, *names),
    )
    return [(int(at), text(kind, MAX_NAME), text(code, MAX_NAME), whole(many)) for at, kind, code, many in cursor]


def _over_time(rows: list[_Row], buckets: int) -> dict[str, list[int]]:
    usual = {kind for kind, _ in _most(((kind, many) for _, kind, _, many in rows), MAX_KINDS)}
    counts: dict[str, list[int]] = {}
    for at, kind, _, many in rows:
        column = counts.setdefault(kind if kind in usual else OTHERS, [0] * buckets)
        column[at] = min(EXACT, column[at] + many)
    return counts


def _loops_over_time(rows: list[_Row], buckets: int) -> list[int]:
    counts = [0] * buckets
    for at, kind, code, many in rows:
        if _broken(kind, code):
            counts[at] = min(EXACT, counts[at] + many)
    return counts


def _broken(kind: str, code: str) -> bool:
    return kind == "stop" and code.startswith(_LOOPS)


def _codes(rows: list[_Row]) -> dict[str, int]:
    """The most frequent reasons why a call was not simply allowed, each call once: the outcome of a held call is not another
    reason. An ended run counts if no call was refused under the same code."""
    calls, runs = Counter[str](), Counter[str]()
    for _, kind, code, many in rows:
        if code and (kind in REASONS or kind == "stop"):
            (runs if kind == "stop" else calls)[code] += many
    return dict(_most((calls | runs).items(), MAX_CODES))


def _most(pairs: Iterable[tuple[str, int]], most: int) -> list[tuple[str, int]]:
    counter: Counter[str] = Counter()
    for name, many in pairs:
        counter[name] = min(EXACT, counter[name] + many)
    return sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))[:most]


def _totals(rows: list[_Row]) -> GuardTotals:
    kinds: Counter[str] = Counter()
    loops = 0
    for _, kind, code, many in rows:
        kinds[kind] += many
        loops += many if _broken(kind, code) else 0
    counts = {
        "judged": kinds[ALLOWED] + kinds["hold"] + kinds["block"],
        "allowed": kinds[ALLOWED],
        "malformed": kinds["malformed"] + kinds["loop"],
        "held": kinds["hold"],
        "approved": kinds["approve"],
        "denied": kinds["deny"],
        "expired": kinds["expire"] + kinds["lapsed"],
        "blocked": kinds["block"],
        "stopped": kinds["stop"],
        "loops": loops,
        "noted": kinds["note"],
        "security": kinds["security"] + kinds["forged"],
        "requests_saved": loops * SAVED_PER_LOOP,
    }
    return GuardTotals(**{name: min(EXACT, many) for name, many in counts.items()})
