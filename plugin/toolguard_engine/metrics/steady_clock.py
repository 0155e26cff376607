"""Whether this machine's clock can be trusted for retention: a wrong clock, as before it is set by the network, would have
everything removed."""

from __future__ import annotations

from msgspec import Struct

STEADY_MS = 10 * 60_000
"""The clock must run evenly for this long first."""

JUMP_MS = 60_000
"""Smaller corrections are normal."""


class SteadyClock(Struct):
    """`steady` compares the clock with a monotonic one; a machine that slept starts from scratch too."""

    _ahead: int | None = None
    _since: int = 0

    def steady(self, now: int, ticks: int) -> bool:
        """`now`: milliseconds since 1970; `ticks`: milliseconds of the monotonic clock. Call it repeatedly."""
        if self._ahead is None or abs(now - ticks - self._ahead) > JUMP_MS:
            self._ahead, self._since = now - ticks, ticks
        return ticks - self._since >= STEADY_MS
