"""Usage and the dashboard, for `toolguard status`. An unreadable metrics file is reported, not raised."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.status import cost_format
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line
from toolguard_engine.metrics.result_types import Totals
from toolguard_engine.wording import printable

WEEK_MS = 7 * 86_400_000


@dataclass(frozen=True)
class Metered:
    """`today`: since local midnight, or since the start of its UTC hour. `begins`: that time, in seconds since 1970.
    `week`: the last 7 days. Both are None if there are no records or the file is unreadable. `problem`: (message, fix).
    `url`: of the running dashboard, empty if none."""

    recording: bool = False
    path: Path | None = None
    today: Totals | None = None
    week: Totals | None = None
    begins: float = 0.0
    url: str = ""
    problem: tuple[str, str] = ("", "")


def look(places: Places) -> Metered:
    try:
        config = cost_format.settings(places)
    except UserError:
        return Metered()  # `status` reports invalid settings itself
    path = cost_format.path(config)
    if not config.enabled and not path.exists():
        return Metered()
    try:
        with gateway_stores.user_errors():
            today, week, begins = _sums(path, time.time_ns() // 1_000_000)
            return Metered(config.enabled, path, today, week, begins, _url(path))
    except UserError as error:
        return Metered(config.enabled, path, problem=(error.message, error.fix))


def lines(metered: Metered) -> list[Line]:
    if metered.problem[0]:
        return [Line("error", metered.problem[0]), Line("info", f"-> {metered.problem[1]}")]
    shown = []
    if metered.today is not None and metered.week is not None:
        today, week = cost_format.describe(metered.today), cost_format.describe(metered.week)
        shown.append(Line("info", f"usage {_day(metered.begins)}: {today}; in the last 7 days: {week} (toolguard usage)"))
    elif metered.recording:
        shown.append(Line("info", "usage: no model call has been recorded yet"))
    if metered.path is not None and not metered.recording:
        shown.append(Line("info", "metrics are disabled: nothing new is recorded (metrics.enabled)"))
    if metered.url:
        shown.append(Line("ok", f"the dashboard is at {printable.plain(metered.url)} (toolguard dashboard --open)"))
    elif metered.recording:
        shown.append(Line("info", "no dashboard is running; toolguard dashboard --open starts one"))
    return shown


def data(metered: Metered) -> dict[str, Any]:
    usage = {
        "recording": metered.recording,
        "path": None if metered.path is None else str(metered.path),
        "today": msgspec.to_builtins(metered.today),
        "week": msgspec.to_builtins(metered.week),
        "problem": metered.problem[0],
    }
    return {"usage": usage, "dashboard": metered.url or None}


def _day(begins: float) -> str:
    moment = datetime.fromtimestamp(begins).astimezone()
    return "today" if (moment.hour, moment.minute) == (0, 0) else f"since {moment:%H:%M}"


def _sums(path: Path, now: int) -> tuple[Totals | None, Totals | None, float]:
    """Raises `StoreError`."""
    from toolguard_engine.metrics import read_database  # noqa: PLC0415 - SQLite only where metrics are kept
    from toolguard_engine.metrics.database import Missing  # noqa: PLC0415 - as above
    from toolguard_engine.metrics.queries import usage  # noqa: PLC0415 - as above
    from toolguard_engine.metrics.queries.row_values import added  # noqa: PLC0415 - as above

    midnight = datetime.fromtimestamp(now / 1000).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        with read_database.asked(path) as connection:
            day = usage(connection, "gateway", int(midnight.timestamp() * 1000), now)
            week = added(one.totals for one in usage(connection, "gateway", now - WEEK_MS, now).shares)
    except Missing:
        return None, None, 0.0
    return (added(one.totals for one in day.shares), week, day.start / 1000) if week.calls else (None, None, 0.0)


def _url(path: Path) -> str:
    from toolguard_engine.host import metrics_path  # noqa: PLC0415 - as above

    if not metrics_path.server_path(path).exists():
        return ""
    from toolguard_cli.dashboard import discovery  # noqa: PLC0415 - as above

    running = discovery.running(path)
    return running.url if running else ""
