"""The gateways: those that made calls, and those that write here."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from toolguard_engine.metrics.queries import sums
from toolguard_engine.metrics.queries.call_totals import folded
from toolguard_engine.metrics.queries.row_values import added, most_expensive, text, totals, whole
from toolguard_engine.metrics.queries.time_ranges import Span, span
from toolguard_engine.metrics.result_types import GatewayRow, Gateways, GatewayTotals, Known, Range, Share, Totals
from toolguard_engine.metrics.row_writer import DAY_MS

MAX_GATEWAYS = 500
MODELS = 5
"""How many of each gateway's models the list names."""

TOP = 20
MAX_PATH = 4_096
_EVER = f"SELECT 1 FROM toolguard_parts WHERE length = {DAY_MS} AND part = 'model' AND gateway = ? LIMIT 1"  # noqa: S608
_SESSIONS = "toolguard_sessions WHERE at IN (SELECT value FROM json_each(?)) AND gateway = ?"
"""By day, because SQLite would otherwise read the rows of all gateways."""

_DEAREST = f"""
    SELECT session, agent FROM {_SESSIONS} GROUP BY session, agent
    ORDER BY total(cost_usd) DESC, total(total) DESC, session LIMIT {TOP}"""  # noqa: S608 - names of tables and columns
_SUMMED = f"SELECT {sums.SUMMED} FROM {_SESSIONS} AND session = ? AND agent = ?"  # noqa: S608 - as above
_KNOWN = ", ".join(Known.__struct_fields__)


def known(connection: sqlite3.Connection) -> list[Known]:
    """Those that write here, by name."""
    cursor = connection.execute(f"SELECT {_KNOWN} FROM toolguard_gateways ORDER BY id LIMIT {MAX_GATEWAYS}")  # noqa: S608
    return [_known(row) for row in cursor]


def gateways(connection: sqlite3.Connection, asked: Range, now: int) -> Gateways:
    """Those that made calls in this range, the most expensive first, then the others."""
    totals_by_key = sums.add_up(connection, ("gateway", "model", "provider"), span(asked, now))
    registered = {one.id: one for one in known(connection)}
    used = most_expensive((Share(name, total) for (name,), total in folded(totals_by_key, 0).items()), MAX_GATEWAYS)
    idle = [Share(name, Totals()) for name in registered.keys() - {one.name for one in used}]
    every = [*used, *sorted(idle, key=lambda one: one.name)]
    return Gateways(asked, [_row(one, _models(totals_by_key, one.name), registered.get(one.name)) for one in every])


def gateway(connection: sqlite3.Connection, gateway_id: str, asked: Range, now: int) -> GatewayTotals | None:
    """One in detail; None if it is unknown. Sessions and channels are kept by day only: theirs cover the whole days (UTC)
    that the range touches."""
    over = span(asked, now)
    registered = next((one for one in known(connection) if one.id == gateway_id), None)
    if registered is None and not _ever(connection, gateway_id):
        return None
    where = {"gateway": gateway_id}
    totals_by_key = sums.add_up(connection, ("gateway", "model", "provider"), over, where)
    row = _row(Share(gateway_id, added(totals_by_key.values())), _models(totals_by_key, gateway_id, TOP), registered)
    days = _whole_days(over)
    agents = sums.add_up(connection, ("agent",), over, where)
    channels = sums.add_up(connection, ("channel",), days, where)
    return GatewayTotals(
        range=asked,
        gateway=row,
        agents=most_expensive((Share(name, total) for (name,), total in agents.items()), TOP),
        sessions=_sessions(connection, gateway_id, days),
        channels=most_expensive((Share(name, total) for (name,), total in channels.items()), TOP),
        days=added(channels.values()),
        days_start=days.start,
    )


def _known(row: tuple[Any, ...]) -> Known:
    values = [*(text(value, MAX_PATH) for value in row[:7]), *map(whole, row[7:])]
    named: dict[str, Any] = dict(zip(Known.__struct_fields__, values, strict=True))
    return Known(**named)


def _ever(connection: sqlite3.Connection, gateway_id: str) -> bool:
    return connection.execute(_EVER, (gateway_id,)).fetchone() is not None


def _whole_days(over: Span) -> Span:
    start = over.start - over.start % DAY_MS
    return over._replace(start=start, bucket_ms=DAY_MS, buckets=-(-(over.end - start) // DAY_MS))


def _sessions(connection: sqlite3.Connection, gateway_id: str, days: Span) -> list[Share]:
    """Ranked before they are added up: there may be thousands."""
    within = (json.dumps(days.begins), gateway_id)
    shares = []
    for name in connection.execute(_DEAREST, within).fetchall():
        summed = totals(connection.execute(_SUMMED, (*within, *name)).fetchone())
        session, agent = sums.names(name)
        shares.append(Share(session, summed, agent=agent, gateway=gateway_id))
    return most_expensive(shares, TOP)


def _models(totals_by_key: dict[sums.Key, Totals], name: str, most: int = MODELS) -> list[Share]:
    own = (Share(model, total, provider) for (gateway, model, provider), total in totals_by_key.items() if gateway == name)
    return most_expensive(own, most)


def _row(one: Share, models: list[Share], registered: Known | None) -> GatewayRow:
    if registered is None:
        return GatewayRow(one.name, one.totals, models)
    return GatewayRow(one.name, one.totals, models, registered.host, registered.version, registered.seen or None)
