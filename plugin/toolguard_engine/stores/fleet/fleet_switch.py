"""Whether the fleet stops this gateway: its team's kill switch as last known, or too long without contact."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import structs

from toolguard_engine.config.fleet_settings import FleetConfig
from toolguard_engine.stores.audit_log import plain
from toolguard_engine.stores.fleet.pipe_messages import FleetStatus

MAX_WHY = 200
MAX_SKEW = 900.0


class FleetSwitch:
    """`status`: as the last engine of this machine left it. Any thread may set `status`."""

    def __init__(
        self,
        config: FleetConfig,
        status: FleetStatus,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._status = status
        self._monotonic = monotonic
        age = clock() - status.contact
        never = not status.contact or age < 0  # a clock that was set back says nothing
        self._contact = monotonic() - (float(config.stale_seconds) if never else age)

    @property
    def status(self) -> FleetStatus:
        return self._status

    def take(self, status: FleetStatus) -> None:
        """The last known state stays where there was no contact."""
        if status.is_connected:
            self._contact, self._status = self._monotonic(), status
        else:
            self._status = structs.replace(self._status, is_connected=False, error=status.error)

    @property
    def skew(self) -> float:
        """The server's clock minus ours, as far as it is believed: a server that is wrong by more lengthens no approval."""
        return min(max(self._status.skew, -MAX_SKEW), MAX_SKEW)

    @property
    def is_stale(self) -> bool:
        return self._monotonic() - self._contact >= self._config.stale_seconds

    def why(self) -> str:
        """One line; empty while calls may run."""
        status = self._status
        if status.kill:
            by = f" ({plain(status.kill_by, 100)})" if status.kill_by else ""
            why = plain(status.kill_why, MAX_WHY) or "no reason given"
            return f"stopped by {_whose(status.kill_team)} kill switch: {why}{by}"
        if self._config.when_stale == "stop" and self.is_stale:
            return f"stopped: no contact with the fleet for {self._config.stale_seconds} s (fleet.whenStale)"
        return ""


def _whose(team: str) -> str:
    """Says whether it is of the whole fleet or of a team."""
    return "the fleet's" if team in ("", "*") else f"{plain(team, 63)}'s"
