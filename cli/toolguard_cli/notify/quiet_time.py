"""Quiet hours and the time of the digest, in local time."""

from __future__ import annotations

from datetime import datetime, timedelta

from toolguard_engine.config.settings import NotifyEvent, QuietHours


def due(event: NotifyEvent, now: float, quiet: QuietHours) -> float:
    """When to send what happens now (seconds since 1970)."""
    if event in quiet.urgent or not is_quiet(now, quiet):
        return now
    return next_time(quiet.end, now)


def is_quiet(now: float, quiet: QuietHours) -> bool:
    time = f"{datetime.fromtimestamp(now):%H:%M}"  # noqa: DTZ006 - local time is meant
    if quiet.begin <= quiet.end:
        return quiet.begin <= time < quiet.end
    return time >= quiet.begin or time < quiet.end


def next_time(clock: str, after: float) -> float:
    """The first moment after this one at which a local clock shows `HH:MM`."""
    start = datetime.fromtimestamp(after)  # noqa: DTZ006 - local time is meant
    hour, minute = map(int, clock.split(":"))
    following = start.replace(hour=hour, minute=minute, second=0, microsecond=0)
    while following.timestamp() <= after:
        following += timedelta(days=1)
    return following.timestamp()
