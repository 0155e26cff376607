"""Whether this machine's clock can be trusted with removing what is too old: one that is set wrong for a while, as before it
is set by the network, would have everything removed."""

from __future__ import annotations

from dataclasses import dataclass

STEADY_MS = 10 * 60_000
"""So long it has to go evenly first."""

JUMP_MS = 60_000
"""It is put right by less than that all the time."""


@dataclass
class SteadyClock:
    """`steady` compares the clock with one that nobody sets; a machine that slept begins anew too."""

    _ahead: int | None = None
    _since: int = 0

    def steady(self, now: int, ticks: int) -> bool:
        """`now`: milliseconds since 1970; `ticks`: milliseconds of the monotonic clock. To be called again and again."""
        if self._ahead is None or abs(now - ticks - self._ahead) > JUMP_MS:
            self._ahead, self._since = now - ticks, ticks
        return ticks - self._since >= STEADY_MS
