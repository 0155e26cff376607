"""What is used of the limits, and where the day and the month will end: for `toolguard limits`, `usage` and `status`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.status import cost_format
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import Line
from toolguard_engine.config import spending_limits
from toolguard_engine.config.run_limit_settings import RunLimits
from toolguard_engine.config.spending_limits import shown
from toolguard_engine.metrics.result_types import CapUse, PeriodForecast, SpendingForecast
from toolguard_engine.wording import limit_texts, printable

HEAD = ("LIMIT", "USED", "", "FORECAST", "STATE")
STATES = {"free": "below 80%", "near": "above 80%", "reached": "REACHED: agents that it covers are stopped"}


@dataclass(frozen=True)
class LimitsView:
    """`forecast`: None without records. `problem`: (message, fix) of an unreadable metrics file."""

    uses: Sequence[CapUse] = ()
    forecast: SpendingForecast | None = None
    problem: tuple[str, str] = ("", "")


def look(places: Places) -> LimitsView:
    """Raises `UserError` for invalid settings."""
    from toolguard_engine.metrics import database, read_database  # noqa: PLC0415 - SQLite only where it is needed
    from toolguard_engine.metrics.database import Missing  # noqa: PLC0415 - as above
    from toolguard_engine.metrics.queries import spending  # noqa: PLC0415 - as above

    metrics, limits = cost_format.usage_settings(places)
    caps, now = spending_limits.caps(limits), time.time_ns() // 1_000_000
    try:
        with gateway_stores.user_errors(), read_database.asked(cost_format.path(metrics)) as connection:
            return LimitsView(spending.cap_uses(connection, caps, now), spending.forecast(connection, now))
    except UserError as error:
        problem = ("", "") if isinstance(error.__cause__, Missing) else (error.message, error.fix)
        return LimitsView(spending.cap_uses(database.in_memory(), caps, now), problem=problem)


def table(view: LimitsView) -> list[Line]:
    """All limits, then what has to be known about them."""
    rows = [(use.words, _used(use), f"{use.share:.0%}", _forecast(use), STATES[use.state]) for use in view.uses]
    lines = [*tables.table(HEAD, rows), *_unpriced(view)]
    reached = (use for use in view.uses if use.state == "reached")
    lines += [Line("next", printable.plain(f"{use.raise_command} raises the limit of {use.words}")) for use in reached]
    return lines


def of_runs(places: Places) -> list[str]:
    """The limits on one run, in general and of agents."""
    config = cost_format.limit_settings(places)
    general, rows = config.run_limits, []
    for agent in ("", *config.agents):
        limits = config.for_agent(agent).run_limits if agent else general
        parts = [f"{most:,} {limit_texts.RUN_UNITS[unit]}" for unit, most in msgspec.to_builtins(limits).items() if most]
        if limits != (RunLimits() if not agent else general):
            rows.append(
                printable.plain(f"a run{f' of {agent}' if agent else ''}: {', '.join(parts) or 'no limit'} (runLimits)")
            )
    return rows


def lines(view: LimitsView) -> list[Line]:
    """One line for each limit that is near or reached, and one for the others."""
    urgent = [use for use in view.uses if use.state != "free"]
    rows = [
        Line("warn", printable.plain(f"limit of {use.words}: {_used(use)} used, {STATES[use.state]} (toolguard limits)"))
        for use in urgent
    ]
    if free := len(view.uses) - len(urgent):
        rows.append(Line("info", f"{free} limit{'' if free == 1 else 's'} on cost and tokens, below 80% (toolguard limits)"))
    return [*rows, *_unpriced(view)]


def forecast_lines(view: LimitsView) -> list[Line]:
    """Empty without records."""
    if view.forecast is None or not view.forecast.month.used_tokens:
        return []
    day, month = view.forecast.day, view.forecast.month
    return [Line("info", f"at this pace: {_end(day, 'today')}, {_end(month, 'this month')} (UTC)")]


def data(view: LimitsView) -> dict[str, Any]:
    forecast = None if view.forecast is None else msgspec.to_builtins(view.forecast)
    return {"limits": [msgspec.to_builtins(use) for use in view.uses], "forecast": forecast}


def _used(use: CapUse) -> str:
    session = f" in {use.session}" if use.session else ""
    return f"{_amount(use, use.used)}{session}"


def _forecast(use: CapUse) -> str:
    if use.forecast is None:
        return ""
    due = f", reached {datetime.fromtimestamp(use.due / 1000, UTC):%m-%d %H:%M} UTC" if use.due else ""
    return f"about {_amount(use, use.forecast)} by the end of the {use.per}{due}"


def _amount(use: CapUse, amount: float) -> str:
    return shown(amount, "usd" if use.unit == "usd" else "tokens")


def _end(of: PeriodForecast, name: str) -> str:
    more = ", without calls of unknown cost," if of.partly else ""
    return f"about {shown(of.forecast_usd, 'usd')}{more} and {of.forecast_tokens:,} tokens {name}"


def _unpriced(view: LimitsView) -> list[Line]:
    models = sorted({model for use in view.uses for model in use.unpriced})
    if not models:
        return []
    text = (
        f"the cost of {', '.join(models)} is unknown and does not count toward USD limits: "
        "set metrics.prices, or a limit in tokens"
    )
    return [Line("warn", printable.plain(text))]
