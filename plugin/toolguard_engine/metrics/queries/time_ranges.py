"""The available ranges, cut into buckets: a number of whole ones and the running one, aligned to UTC."""

from __future__ import annotations

from typing import NamedTuple

from toolguard_engine.metrics.result_types import Range
from toolguard_engine.metrics.row_writer import DAY_MS, HOUR_MS


class Span(NamedTuple):
    """The time from `start` until before `end`, in milliseconds since 1970. `days`: read from the sums of days, not of
    hours."""

    range: Range
    start: int
    bucket_ms: int
    buckets: int
    days: bool

    @property
    def end(self) -> int:
        return self.start + self.bucket_ms * self.buckets

    @property
    def begins(self) -> list[int]:
        return list(range(self.start, self.end, self.bucket_ms))

    @property
    def ended(self) -> Span:
        """The span without the running bucket."""
        return self._replace(buckets=self.buckets - 1)

    @property
    def before(self) -> Span:
        """The same number of buckets before it."""
        return self._replace(start=self.start - self.bucket_ms * self.buckets)

    @property
    def length(self) -> int:
        """The length of the sums that it is read from."""
        return DAY_MS if self.days else HOUR_MS

    @property
    def table(self) -> str:
        return "toolguard_days" if self.days else "toolguard_hours"

    @property
    def verdict_table(self) -> str:
        return "toolguard_verdict_days" if self.days else "toolguard_verdict_hours"


_BUCKETS: dict[Range, tuple[int, int]] = {"24h": (HOUR_MS, 24), "7d": (6 * HOUR_MS, 28), "30d": (DAY_MS, 30)}
"""The length of a bucket, and how many whole ones there are."""


def span(asked: Range, now: int) -> Span:
    length, count = _BUCKETS[asked]
    running = now - now % length
    return Span(asked, running - count * length, length, count + 1, days=length == DAY_MS)
