"""`toolguard usage`: which tokens went where, and what they cost."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from toolguard_cli import metering, stores, tables
from toolguard_cli.commands.audit import FORMULA
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers
from toolguard_engine.config import MetricsConfig
from toolguard_engine.metrics import reading
from toolguard_engine.metrics.database import Missing
from toolguard_engine.metrics.queries import usage
from toolguard_engine.metrics.queries.usage import Grouping, Usage
from toolguard_engine.metrics.queries.values import added
from toolguard_engine.metrics.record import DAY_MS, HOUR_MS
from toolguard_engine.metrics.shapes import Share, Totals

GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
SHOWN = 50
"""Rows of the table; `--json` and `--csv` have all."""

WIDE = 140
"""Columns of a terminal."""

NAMES = ("name", "provider", "agent", "gateway")
_NAMED: dict[Grouping, tuple[str, ...]] = {"model": ("name", "provider"), "session": ("name", "agent", "gateway")}
_NUMBERS = ("CALLS", "FAILED", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST")
SPELLED = "write it like 30m, 12h, 7d or 2026-11-01"
_ROUNDED = {HOUR_MS: "from the full hour", DAY_MS: "from the full day"}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True)
class Wish:
    """`by`: see `GROUPINGS`; `since`: as it was typed; `form`: of the answer."""

    by: str = "model"
    since: str = "7d"
    form: Literal["lines", "csv"] = "lines"


def run(places: Places, wish: Wish) -> Result:
    """Raises `UserError`, and `ValueError` as `asked`."""
    by, since, now = asked(wish)
    metrics = metering.settings(places)
    path = metering.path(metrics)
    try:
        with stores.told(), reading.asked(path) as connection:
            found = usage(connection, by, since, now)
    except UserError as error:
        if not isinstance(error.__cause__, Missing):
            raise
        found = Usage(since, [])
    return _answer(places, found, metrics, wish, by, now)


def asked(wish: Wish) -> tuple[Grouping, int, int]:
    """What is wanted, since when, and until now, in milliseconds since 1970. Raises `ValueError` where that is no wish."""
    now = time.time_ns() // 1_000_000
    return _grouping(wish.by), _moment(wish.since.strip(), now), now


def _answer(places: Places, found: Usage, metrics: MetricsConfig, wish: Wish, by: Grouping, now: int) -> Result:
    path = metering.path(metrics)
    shares = [_dated(one) for one in found.shares] if by == "day" else found.shares
    total = added(one.totals for one in shares)
    data = {
        "by": by,
        "since": found.start,
        "cut": found.cut,
        "until": now,
        "path": str(path),
        "recording": metrics.enabled,
        "usage": [msgspec.to_builtins(one) for one in shares],
        "total": msgspec.to_builtins(total),
    }
    if wish.form == "csv":
        return Result("usage", data, printed=_csv(shares))
    lines = _lines(found, by, shares, total) if shares else _nothing(places, metrics, path, wish.since)
    if shares and not metrics.enabled:
        lines += [Line("warn", metering.OFF_NOW), Line("next", metering.switch(places))]
    return Result("usage", data, tuple(lines))


def _grouping(text: str) -> Grouping:
    found = next((one for one in GROUPINGS if one == text), None)
    if found is None:
        raise ValueError(f"--by {answers.cut(text, 40)!r} is nothing to group by; it takes {', '.join(GROUPINGS)}")
    return found


def _moment(text: str, now: int) -> int:
    """Milliseconds since 1970 of a span back from now, or of a day (UTC). Raises `ValueError`."""
    shown = f"--since {answers.cut(text, 40)!r}"
    try:
        if not _DATE.fullmatch(text):
            return now - tables.seconds(text) * 1000
        day = date.fromisoformat(text)
    except (UserError, ValueError) as error:
        raise ValueError(f"{shown} is neither a span of time nor a day; {SPELLED}") from error
    moment = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
    if moment > now:
        raise ValueError(f"{shown} is not here yet; {SPELLED}")
    return moment


def _nothing(places: Places, metrics: MetricsConfig, path: Path, since: str) -> list[Line]:
    where = answers.plain(str(path))
    if not metrics.enabled:
        return [Line("warn", f"nothing since {since} in {where}: {metering.OFF}"), Line("next", metering.switch(places))]
    return [
        Line("info", f"no model call since {since} in {where}"),
        Line("next", "toolguard status shows whether the gateway runs; toolguard usage --since 90d looks further back"),
    ]


def _lines(found: Usage, by: Grouping, shares: Sequence[Share], total: Totals) -> list[Line]:
    of = "COST" if total.cost_usd else "TOKENS"
    head = (*(by if name == "name" else name for name in _NAMED.get(by, ("name",))), *_NUMBERS, f"OF {of}")
    rows = [_row(one, by, total) for one in shares[:SHOWN]]
    rows.append(_row(Share("total", total), by, total))
    lines = [Line("info", _since(found, by)), *tables.table(*_aligned(head, rows, by), _widest())]
    if (more := len(shares) - SHOWN) > 0:
        lines.append(Line("info", f"and {more} more, which the total counts (--json and --csv have all)"))
    if total.estimated_usd:
        lines.append(Line("info", f"{metering.ESTIMATED} holds an estimate: the gateway told no price, a price table did"))
    if total.priced < total.calls:
        lines.append(Line("info", f"{metering.UNKNOWN} is a cost that nobody knows (metrics.prices sets prices)"))
    return lines


def _since(found: Usage, by: Grouping) -> str:
    kept = "rawDays" if by == "session" else "dailyDays"
    why = f"nothing older is kept: metrics.retention.{kept}" if found.cut else _ROUNDED[found.length]
    return f"since {datetime.fromtimestamp(found.start / 1000, UTC):%Y-%m-%d %H:%M} UTC ({why})"


def _row(one: Share, by: Grouping, total: Totals) -> tuple[str, ...]:
    names = [getattr(one, name) for name in _NAMED.get(by, ("name",))]
    sums = one.totals
    numbers = (sums.calls, sums.failed, sums.input, sums.output, sums.cache_read, sums.cache_write)
    part, whole = (sums.cost_usd, total.cost_usd) if total.cost_usd else (sums.total, total.total)
    return *names, *(f"{number:,}" for number in numbers), metering.cost(sums), f"{part / whole:.0%}" if whole else ""


def _aligned(head: Sequence[str], rows: list[tuple[str, ...]], by: Grouping) -> tuple[list[str], list[list[str]]]:
    """Numbers end below each other."""
    named = len(_NAMED.get(by, ("name",)))
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    titles = [text.upper() if at < named else text.rjust(widths[at]) for at, text in enumerate(head)]
    return titles, [[text if at < named else text.rjust(widths[at]) for at, text in enumerate(row)] for row in rows]


def _widest() -> int:
    """Of the columns of names: those of numbers have to stand beside them."""
    return tables.MAX_CELL if tables.width() >= WIDE else tables.MAX_CELL // 2


def _dated(one: Share) -> Share:
    return msgspec.structs.replace(one, name=f"{datetime.fromtimestamp(int(one.name) / 1000, UTC):%Y-%m-%d}")


def _csv(shares: Sequence[Share]) -> str:
    """No cell is a formula for a spreadsheet, and none holds a control character."""
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow((*NAMES, *Totals.__struct_fields__))
    for one in shares:
        sums: dict[str, Any] = msgspec.structs.asdict(one.totals)
        table.writerow((*(_cell(getattr(one, name)) for name in NAMES), *sums.values()))
    return file.getvalue().removesuffix("\n")


def _cell(text: str) -> str:
    clean = answers.plain(text)
    return f"'{clean}" if clean.startswith(FORMULA) else clean
