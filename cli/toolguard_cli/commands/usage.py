"""`toolguard usage`: model calls, their tokens and their cost."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
import typer

from toolguard_cli.commands.audit import safe_cell
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.status import cost_format, limit_lines
from toolguard_cli.system import time_spans
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.config.settings import MetricsConfig
from toolguard_engine.metrics import read_database
from toolguard_engine.metrics.database import Missing
from toolguard_engine.metrics.queries import usage
from toolguard_engine.metrics.queries.row_values import added
from toolguard_engine.metrics.queries.usage_totals import Grouping, UsageShares
from toolguard_engine.metrics.result_types import Share, Totals
from toolguard_engine.metrics.row_writer import DAY_MS, HOUR_MS
from toolguard_engine.wording import printable

GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
SHOWN = 50
"""Rows of the table; `--json` and `--csv` have all."""

NAMES = ("name", "provider", "agent", "gateway")
_NAMED: dict[Grouping, tuple[str, ...]] = {"model": ("name", "provider"), "session": ("name", "agent", "gateway")}
_NUMBERS = ("CALLS", "FAILED", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST")
SPELLED = f"write it like {time_spans.SPELLED}, or as a day like 2026-11-01"
_ROUNDED = {HOUR_MS: "from the start of the hour", DAY_MS: "from the start of the day in UTC"}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_UNITS = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
_SPAN = re.compile(rf"(\d{{1,9}})([{''.join(_UNITS)}])", re.ASCII)

app = command_app()


@command(
    app,
    "toolguard usage",
    "toolguard usage --by agent --since 24h",
    "toolguard usage --by day --since 2026-11-01 --csv > usage.csv",
    "toolguard usage --by session --json",
)
def show_usage(
    places: Places,
    *,
    by: Annotated[str, typer.Option("--by", help="model, agent, gateway, session or day.")] = "model",
    since: Annotated[str, typer.Option("--since", help=f"{time_spans.SPELLED}, or a day like 2026-11-01 (UTC).")] = "7d",
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV for a spreadsheet.")] = False,
    as_json: bool = False,
) -> Result:
    """Show model calls, their tokens and their cost.

    Includes all gateways that write to the same metrics file, and needs metrics.enabled. ~ marks an estimate from a price
    table, ? an unknown cost. Up to 7 days back, periods start on the hour; beyond that, and with --by session or day, they
    start at midnight UTC.

    In --json and --csv, priced counts the calls with a known cost, and timed those with a known duration.
    """
    if as_csv and as_json:
        raise typer.BadParameter("use only one of them", param_hint="--json and --csv")
    request = UsageRequest(by, since, "csv" if as_csv else "lines")
    try:
        parsed(request)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return run(places, request)


@dataclass(frozen=True)
class UsageRequest:
    """`by`: see `GROUPINGS`; `since`: as typed; `form`: of the output."""

    by: str = "model"
    since: str = "7d"
    form: Literal["lines", "csv"] = "lines"


def run(places: Places, request: UsageRequest) -> Result:
    """Raises `UserError`, and `ValueError` as `parsed`."""
    by, since, now = parsed(request)
    metrics = cost_format.settings(places)
    path = cost_format.path(metrics)
    try:
        with gateway_stores.user_errors(), read_database.asked(path) as connection:
            shares = usage(connection, by, since, now)
    except UserError as error:
        if not isinstance(error.__cause__, Missing):
            raise
        shares = UsageShares(since, [])
    return _answer(places, shares, metrics, request, by, now)


def parsed(request: UsageRequest) -> tuple[Grouping, int, int]:
    """The grouping, the start and now, in milliseconds since 1970. Raises `ValueError` if the request is invalid."""
    now = time.time_ns() // 1_000_000
    return _grouping(request.by), _moment(request.since.strip(), now), now


def _answer(
    places: Places, used: UsageShares, metrics: MetricsConfig, request: UsageRequest, by: Grouping, now: int
) -> Result:
    path = cost_format.path(metrics)
    shares = [_dated(one) for one in used.shares] if by == "day" else used.shares
    total = added(one.totals for one in shares)
    data = {
        "by": by,
        "since": used.start,
        "cut": used.cut,
        "until": now,
        "path": str(path),
        "recording": metrics.enabled,
        "usage": [msgspec.to_builtins(one) for one in shares],
        "total": msgspec.to_builtins(total),
    }
    if request.form == "csv":
        return Result("usage", data, printed=_csv(shares))
    view = limit_lines.look(places)
    data["forecast"] = limit_lines.data(view)["forecast"]
    lines = (
        _lines(used, by, shares, total) + limit_lines.forecast_lines(view)
        if shares
        else _nothing(places, metrics, path, request.since)
    )
    if shares and not metrics.enabled:
        lines += [Line("warn", cost_format.OFF_NOW), Line("next", cost_format.switch(places))]
    return Result("usage", data, tuple(lines))


def _grouping(text: str) -> Grouping:
    grouping = next((one for one in GROUPINGS if one == text), None)
    if grouping is None:
        raise ValueError(f"--by {printable.cut(text, 40)!r} is not a grouping; use one of {', '.join(GROUPINGS)}")
    return grouping


def _moment(text: str, now: int) -> int:
    """Milliseconds since 1970 of a span back from now, or of a day (UTC). Raises `ValueError`."""
    shown = f"--since {printable.cut(text, 40)!r}"
    try:
        if not _DATE.fullmatch(text):
            return now - time_spans.seconds(text, "--since") * 1000
        day = date.fromisoformat(text)
    except (UserError, ValueError) as error:
        raise ValueError(f"{shown} is neither a duration nor a day; {SPELLED}") from error
    moment = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
    if moment > now:
        raise ValueError(f"{shown} is in the future; {SPELLED}")
    return moment


def _nothing(places: Places, metrics: MetricsConfig, path: Path, since: str) -> list[Line]:
    where = printable.plain(str(path))
    if not metrics.enabled:
        return [
            Line("warn", f"nothing {_period(since)} in {where}: {cost_format.OFF}"),
            Line("next", cost_format.switch(places)),
        ]
    return [
        Line("info", f"no model calls {_period(since)} in {where}"),
        Line("next", "toolguard status shows whether the gateway runs; toolguard usage --since 90d looks further back"),
    ]


def _period(since: str) -> str:
    """`in the last 7 days`, `since 2026-11-01`; `since` as typed, and valid."""
    typed = since.strip().lower()
    if _DATE.fullmatch(typed):
        return f"since {typed}"
    if not (match := _SPAN.fullmatch(typed)):
        return f"in the last {typed}"
    count, unit = int(match[1]), _UNITS[match[2]]
    return f"in the last {unit}" if count == 1 else f"in the last {count} {unit}s"


def _lines(used: UsageShares, by: Grouping, shares: Sequence[Share], total: Totals) -> list[Line]:
    of = "COST" if total.cost_usd else "TOKENS"
    head = (*(by if name == "name" else name for name in _NAMED.get(by, ("name",))), *_NUMBERS, f"OF {of}")
    rows = [_row(one, by, total) for one in shares[:SHOWN]]
    rows.append(_row(Share("total", total), by, total))
    lines = [Line("info", _since(used, by)), *tables.table(*_aligned(head, rows, by))]
    if (more := len(shares) - SHOWN) > 0:
        lines.append(Line("info", f"and {more} more, which the total includes (--json and --csv list all)"))
    if total.estimated_usd:
        lines.append(
            Line(
                "info",
                f"{cost_format.ESTIMATED} marks an estimate: the gateway reported no price, so a price table was used",
            )
        )
    if total.priced < total.calls:
        lines.append(Line("info", f"{cost_format.UNKNOWN} marks an unknown cost (metrics.prices sets prices)"))
    return lines


def _since(used: UsageShares, by: Grouping) -> str:
    kept = "rawDays" if by == "session" else "dailyDays"
    why = f"nothing older is kept: metrics.retention.{kept}" if used.cut else _ROUNDED[used.length]
    return f"since {printable.moment(used.start / 1000)} ({why})"


def _row(one: Share, by: Grouping, total: Totals) -> tuple[str, ...]:
    names = [getattr(one, name) for name in _NAMED.get(by, ("name",))]
    sums = one.totals
    numbers = (sums.calls, sums.failed, sums.input, sums.output, sums.cache_read, sums.cache_write)
    part, whole = (sums.cost_usd, total.cost_usd) if total.cost_usd else (sums.total, total.total)
    return *names, *(f"{number:,}" for number in numbers), cost_format.cost(sums), f"{part / whole:.0%}" if whole else ""


def _aligned(head: Sequence[str], rows: list[tuple[str, ...]], by: Grouping) -> tuple[list[str], list[list[str]]]:
    named = len(_NAMED.get(by, ("name",)))
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    titles = [text.upper() if at < named else text.rjust(widths[at]) for at, text in enumerate(head)]
    return titles, [[text if at < named else text.rjust(widths[at]) for at, text in enumerate(row)] for row in rows]


def _dated(one: Share) -> Share:
    return msgspec.structs.replace(one, name=f"{datetime.fromtimestamp(int(one.name) / 1000, UTC):%Y-%m-%d}")


def _csv(shares: Sequence[Share]) -> str:
    """Cells hold no spreadsheet formula and no control character."""
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow((*NAMES, *Totals.__struct_fields__))
    for one in shares:
        sums: dict[str, Any] = msgspec.structs.asdict(one.totals)
        table.writerow((*(safe_cell(getattr(one, name)) for name in NAMES), *sums.values()))
    return file.getvalue().removesuffix("\n")
