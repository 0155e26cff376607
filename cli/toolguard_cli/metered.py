"""What `toolguard status` says about usage and the dashboard. A metrics file that cannot be read is a line, not an error."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from toolguard_cli import metering, stores
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line
from toolguard_engine import answers
from toolguard_engine.metrics.shapes import Totals

WEEK_MS = 7 * 86_400_000


@dataclass(frozen=True)
class Metered:
    """`today`: since midnight here, or, where that is within an hour of UTC, since that hour began: at `begins`, in seconds
    since 1970; `week`: the last 7 days; both None where nothing was recorded, or where it cannot be read, which `problem`
    tells with its mend. `url`: where the dashboard answers, empty where none does."""

    recording: bool = False
    path: Path | None = None
    today: Totals | None = None
    week: Totals | None = None
    begins: float = 0.0
    url: str = ""
    problem: tuple[str, str] = ("", "")


def look(places: Places) -> Metered:
    try:
        config = metering.settings(places)
    except UserError:
        return Metered()  # what is wrong with the settings is told already
    path = metering.path(config)
    if not config.enabled and not path.exists():
        return Metered()
    try:
        with stores.told():
            today, week, begins = _sums(path, time.time_ns() // 1_000_000)
            return Metered(config.enabled, path, today, week, begins, _url(path))
    except UserError as error:
        return Metered(config.enabled, path, problem=(error.message, error.fix))


def lines(found: Metered) -> list[Line]:
    if found.problem[0]:
        return [Line("error", found.problem[0]), Line("info", f"-> {found.problem[1]}")]
    told = []
    if found.today is not None and found.week is not None:
        today, week = metering.words(found.today), metering.words(found.week)
        told.append(Line("info", f"usage {_day(found.begins)}: {today}; in 7 days: {week} (toolguard usage)"))
    elif found.recording:
        told.append(Line("info", "usage: no model call has been recorded yet"))
    if found.path is not None and not found.recording:
        told.append(Line("info", "metrics are off: nothing new is recorded (metrics.enabled)"))
    if found.url:
        told.append(Line("ok", f"the dashboard is at {answers.plain(found.url)} (toolguard dashboard --open)"))
    elif found.recording:
        told.append(Line("info", "no dashboard runs; toolguard dashboard --open starts one"))
    return told


def data(found: Metered) -> dict[str, Any]:
    usage = {
        "recording": found.recording,
        "path": None if found.path is None else str(found.path),
        "today": msgspec.to_builtins(found.today),
        "week": msgspec.to_builtins(found.week),
        "problem": found.problem[0],
    }
    return {"usage": usage, "dashboard": found.url or None}


def _day(begins: float) -> str:
    """How today is called, which begins then."""
    moment = datetime.fromtimestamp(begins).astimezone()
    return "today" if (moment.hour, moment.minute) == (0, 0) else f"since {moment:%H:%M}"


def _sums(path: Path, now: int) -> tuple[Totals | None, Totals | None, float]:
    """Raises `StoreError`."""
    from toolguard_engine.metrics import reading  # noqa: PLC0415 - SQLite only where metrics are kept
    from toolguard_engine.metrics.database import Missing  # noqa: PLC0415 - as above
    from toolguard_engine.metrics.queries import usage  # noqa: PLC0415 - as above
    from toolguard_engine.metrics.queries.values import added  # noqa: PLC0415 - as above

    midnight = datetime.fromtimestamp(now / 1000).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        with reading.asked(path) as connection:
            day = usage(connection, "gateway", int(midnight.timestamp() * 1000), now)
            week = added(one.totals for one in usage(connection, "gateway", now - WEEK_MS, now).shares)
    except Missing:
        return None, None, 0.0
    return (added(one.totals for one in day.shares), week, day.start / 1000) if week.calls else (None, None, 0.0)


def _url(path: Path) -> str:
    from toolguard_engine.metrics import place  # noqa: PLC0415 - as above

    if not place.server_path(path).exists():
        return ""
    from toolguard_cli.dashboard import asking  # noqa: PLC0415 - as above

    found = asking.running(path)
    return found.url if found else ""
