"""The newest calls and decisions: a few rows by an index, never a full scan."""

from __future__ import annotations

import sqlite3
from typing import Any

from toolguard_engine.metrics.queries.row_values import EXACT, known_money, text, whole
from toolguard_engine.metrics.queries.sums import MAX_NAME
from toolguard_engine.metrics.result_types import CallRow, DecisionRow, Decisions, LiveEvents
from toolguard_engine.metrics.row_writer import OWN

MOST = 200
ALLOWED = "allow"
_CALL = (
    "id, at, gateway, agent, session, channel, provider, model, input, output, cache_read, cache_write, total,"
    " cost_usd, cost_estimated, duration_ms, outcome"
)
_DECISION = ", ".join(DecisionRow.__struct_fields__)


def live(connection: sqlite3.Connection, limit: int = 50) -> LiveEvents:
    """The calls that toolguard wrote last, then, if there is room, the newest imported ones. Its own are not ordered by
    time: a wrong clock would keep its calls on top."""
    wanted = _bounded(limit)
    own = f"SELECT {_CALL} FROM toolguard_calls WHERE source = {OWN} ORDER BY id DESC LIMIT ?"  # noqa: S608 - names of columns
    rows = connection.execute(own, (wanted,)).fetchall()
    if room := wanted - len(rows):
        others = f"SELECT {_CALL} FROM toolguard_calls WHERE source <> {OWN} ORDER BY at DESC, id DESC LIMIT ?"  # noqa: S608
        rows += connection.execute(others, (room,)).fetchall()
    return LiveEvents([_call(row) for row in rows])


def calls_after(connection: sqlite3.Connection, call_id: int, limit: int) -> list[CallRow]:
    """What toolguard recorded after this call, the oldest first; imported calls are left out."""
    later = f"SELECT {_CALL} FROM toolguard_calls WHERE id > ? AND source = {OWN} ORDER BY id LIMIT ?"  # noqa: S608 - as above
    return [_call(row) for row in connection.execute(later, (_id(call_id), _bounded(limit)))]


def newest(connection: sqlite3.Connection) -> tuple[int, int]:
    """The ids of the newest call and of the newest verdict; 0 if there is none. A reader that follows both asks for rows
    after these, and asks again first: an import moves them too."""
    call, verdict = connection.execute(
        "SELECT (SELECT max(id) FROM toolguard_calls), (SELECT max(id) FROM toolguard_verdicts)"
    ).fetchone()
    return whole(call), whole(verdict)


def decisions(
    connection: sqlite3.Connection, limit: int = 50, before: int | None = None, gateway: str = "", kind: str = ""
) -> Decisions:
    """What was not simply allowed, or all of one `kind`; older than `before`, if given."""
    named = {words: value for words, value in (("kind = ?", kind), ("gateway = ?", gateway)) if value}
    conditions = [*named, "id < ?", *(["kind <> 'allow'"] if kind != ALLOWED else [])]
    wanted = _bounded(limit)
    rows = connection.execute(
        f"SELECT {_DECISION} FROM toolguard_verdicts WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?",  # noqa: S608
        (*named.values(), EXACT if before is None else _id(before), wanted + 1),
    ).fetchall()
    shown = [_decision(row) for row in rows[:wanted]]
    return Decisions(shown, shown[-1].id if shown and len(rows) > wanted else None)


def decisions_after(connection: sqlite3.Connection, verdict_id: int, limit: int) -> list[DecisionRow]:
    """What was not simply allowed after this one, the oldest first."""
    later = f"SELECT {_DECISION} FROM toolguard_verdicts WHERE kind <> 'allow' AND id > ? ORDER BY id LIMIT ?"  # noqa: S608
    return [_decision(row) for row in connection.execute(later, (_id(verdict_id), _bounded(limit)))]


def _bounded(limit: int) -> int:
    return max(0, min(limit, MOST))


def _id(value: int) -> int:
    return max(-1, min(value, EXACT))


def _call(row: tuple[Any, ...]) -> CallRow:
    cost, estimated, duration, outcome = row[13:]
    values = [*map(whole, row[:2]), *(text(value, MAX_NAME) for value in row[2:8]), *map(whole, row[8:13])]
    named: dict[str, Any] = dict(zip(CallRow.__struct_fields__[:13], values, strict=True))
    return CallRow(
        **named,
        cost_usd=known_money(cost),
        estimated=estimated == 1,
        duration_ms=None if duration is None else whole(duration),
        outcome=text(outcome, MAX_NAME),
    )


def _decision(row: tuple[Any, ...]) -> DecisionRow:
    values = [*map(whole, row[:2]), *map(text, row[2:])]
    named: dict[str, Any] = dict(zip(DecisionRow.__struct_fields__, values, strict=True))
    return DecisionRow(**named)
