"""Limits for the values of a row: bounded printable texts, and plausible numbers and times.

Names come from the gateway, models and files. A row that does not fit is adjusted, so that it does not block the others.
"""

from __future__ import annotations

import math

from toolguard_engine.metrics.row_writer import DAY_MS, CallRecord, VerdictRecord
from toolguard_engine.wording.visible_text import visible

MAX_NAME = 200
MAX_TEXT = 500
MAX_SHOWN = 4_000
MAX_PATH = 4_096
MAX_TOKENS = 10**9
MAX_COST = 10**6
MAX_DURATION_MS = 7 * DAY_MS


def clean(text: str, most: int = MAX_NAME) -> str:
    """Printable and bounded."""
    text = text[:most]
    return text if text.isprintable() else "".join(one if one.isprintable() else "?" for one in text)


def call(given: CallRecord, now: int) -> CallRecord:
    """This call with all values in bounds; `now`: milliseconds since 1970."""
    return CallRecord(
        at=time(given.at, now),
        gateway=clean(given.gateway),
        agent=clean(given.agent),
        session=clean(given.session),
        channel=clean(given.channel),
        provider=clean(given.provider),
        model=clean(given.model),
        input=_between(given.input, MAX_TOKENS),
        output=_between(given.output, MAX_TOKENS),
        cache_read=_between(given.cache_read, MAX_TOKENS),
        cache_write=_between(given.cache_write, MAX_TOKENS),
        total=_between(given.total, MAX_TOKENS),
        cost_usd=_cost(given.cost_usd),
        cost_estimated=int(bool(given.cost_estimated)),
        duration_ms=None if given.duration_ms is None else _between(given.duration_ms, MAX_DURATION_MS),
        outcome=clean(given.outcome),
    )


def verdict(given: VerdictRecord, now: int) -> VerdictRecord:
    """This verdict with all values in bounds."""
    return VerdictRecord(
        at=time(given.at, now),
        gateway=clean(given.gateway),
        agent=clean(given.agent),
        session=clean(given.session),
        run=clean(given.run),
        tool=clean(given.tool),
        decision=clean(given.decision),
        code=clean(given.code),
        reason=clean(given.reason, MAX_TEXT),
        kind=clean(given.kind),
        event=None if given.event is None else clean(given.event),
        nonce=clean(given.nonce),
        shown=visible(given.shown[:MAX_SHOWN])[:MAX_SHOWN],
        person=clean(given.person),
        place=clean(given.place),
    )


def time(at: int, now: int) -> int:
    """A plausible time: one more than a day ahead comes from a wrong clock and is replaced by now."""
    return at if 0 <= at <= now + DAY_MS else now


def _between(number: float, most: int) -> int:
    return min(max(int(number), 0), most) if math.isfinite(number) else 0


def _cost(cost: float | None) -> float | None:
    return cost if cost is not None and 0 <= cost <= MAX_COST else None
