"""The newest calls and decisions: a few rows by an index, never a full scan."""

from __future__ import annotations

import re
import sqlite3
from typing import Any, NamedTuple

from toolguard_engine.metrics.queries.row_values import EXACT, known_money, text, whole
from toolguard_engine.metrics.queries.sums import MAX_NAME
from toolguard_engine.metrics.result_types import CallRow, DecisionRow, Decisions
from toolguard_engine.metrics.row_writer import OWN

MOST = 200
ALLOWED = "allow"
CALL = (
    "id, at, gateway, agent, session, channel, provider, model, input, output, cache_read, cache_write, total,"
    " cost_usd, cost_estimated, duration_ms, outcome"
)
DECISION = ", ".join(DecisionRow.__struct_fields__)
_NOT_ALLOWED = "kind <> 'allow'"
_TEXTS = ("tool", "code", "reason", "shown", "agent", "session", "nonce", "person")

SEARCHED = 20_000
HOLDS = frozenset({"hold", "hold-again"})
ANSWERS = ("approve", "deny", "expire", "lapsed", "consume")
MAX_ANSWERS = 5_000
"""Answers of a kind that are read for one page of decisions."""


def calls_after(connection: sqlite3.Connection, call_id: int, limit: int) -> list[CallRow]:
    """What toolguard recorded after this call, the oldest first; imported calls are left out."""
    later = f"SELECT {CALL} FROM toolguard_calls WHERE id > ? AND source = {OWN} ORDER BY id LIMIT ?"  # noqa: S608 - names of columns
    return [call_row(row) for row in connection.execute(later, (_id(call_id), _bounded(limit)))]


def newest(connection: sqlite3.Connection) -> tuple[int, int]:
    """The ids of the newest call and of the newest verdict; 0 if there is none. A reader that follows both asks for rows
    after these, and asks again first: an import moves them too."""
    call, verdict = connection.execute(
        "SELECT (SELECT max(id) FROM toolguard_calls), (SELECT max(id) FROM toolguard_verdicts)"
    ).fetchone()
    return whole(call), whole(verdict)


class DecisionFilter(NamedTuple):
    """Which decisions are asked for; empty: all. `text`: anywhere in a decision, in capitals or not."""

    gateway: str = ""
    kind: str = ""
    agent: str = ""
    code: str = ""
    nonce: str = ""
    text: str = ""

    @property
    def rare(self) -> bool:
        """Whether the filter asks for a column that has no index."""
        return bool(self.agent or self.code or self.nonce or self.text)


def decisions(
    connection: sqlite3.Connection, limit: int = 50, before: int | None = None, wanted: DecisionFilter | None = None
) -> Decisions:
    """What was not simply allowed, or all of one kind; older than `before`, if given. What no index finds is looked for in
    `SEARCHED` decisions at most; `next` then continues, even if none was found."""
    wanted = wanted or DecisionFilter()
    many, end = _bounded(limit), EXACT if before is None else _id(before)
    floor = _floor(connection, end, wanted.kind) if wanted.rare else None
    conditions, values = _conditions(wanted)
    within = ["id < ?", *(["id >= ?"] if floor is not None else [])]
    rows = connection.execute(
        f"SELECT {DECISION} FROM toolguard_verdicts WHERE {' AND '.join([*conditions, *within])} ORDER BY id DESC LIMIT ?",  # noqa: S608
        (*values, end, *([floor] if floor is not None else []), many + 1),
    ).fetchall()
    shown = [decision_row(row) for row in rows[:many]]
    following = shown[-1].id if shown and len(rows) > many else floor
    return Decisions(shown, following, _answers(connection, shown))


def _conditions(wanted: DecisionFilter) -> tuple[list[str], list[str]]:
    exact = {name: value for name, value in wanted._asdict().items() if value and name != "text"}
    conditions = [*(f"{name} = ?" for name in exact), *([_NOT_ALLOWED] if wanted.kind != ALLOWED else [])]
    if not wanted.text:
        return conditions, [*exact.values()]
    pattern = "%" + re.sub(r"([%_~])", r"~\1", wanted.text) + "%"
    some = " OR ".join(f"{name} LIKE ? ESCAPE '~'" for name in _TEXTS)
    return [*conditions, f"({some})"], [*exact.values(), *[pattern] * len(_TEXTS)]


def _floor(connection: sqlite3.Connection, end: int, kind: str) -> int | None:
    """The oldest decision to search; None if there are not that many."""
    among = f"AND {_NOT_ALLOWED}" if kind != ALLOWED else ""
    row = connection.execute(
        f"SELECT id FROM toolguard_verdicts WHERE id < ? {among} ORDER BY id DESC LIMIT 1 OFFSET {SEARCHED - 1}",  # noqa: S608
        (end,),
    ).fetchone()
    return None if row is None else whole(row[0])


def _answers(connection: sqlite3.Connection, shown: list[DecisionRow]) -> list[DecisionRow]:
    """What was decided about the held calls among these, or became of them."""
    held = {(row.gateway, row.nonce): row.id for row in shown if row.kind in HOLDS and row.nonce}
    if not held:
        return []
    after = f"SELECT {DECISION} FROM toolguard_verdicts WHERE kind = ? AND {_NOT_ALLOWED} AND id > ? ORDER BY id LIMIT ?"  # noqa: S608
    rows = [
        decision_row(row)
        for kind in ANSWERS
        for row in connection.execute(after, (kind, min(held.values()), MAX_ANSWERS)).fetchall()
    ]
    return sorted((row for row in rows if (row.gateway, row.nonce) in held), key=lambda row: row.id)


def decisions_after(connection: sqlite3.Connection, verdict_id: int, limit: int) -> list[DecisionRow]:
    """What was not simply allowed after this one, the oldest first."""
    later = f"SELECT {DECISION} FROM toolguard_verdicts WHERE kind <> 'allow' AND id > ? ORDER BY id LIMIT ?"  # noqa: S608
    return [decision_row(row) for row in connection.execute(later, (_id(verdict_id), _bounded(limit)))]


def _bounded(limit: int) -> int:
    return max(0, min(limit, MOST))


def _id(value: int) -> int:
    return max(-1, min(value, EXACT))


def call_row(row: tuple[Any, ...]) -> CallRow:
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


def decision_row(row: tuple[Any, ...]) -> DecisionRow:
    values = [*map(whole, row[:2]), *map(text, row[2:])]
    named: dict[str, Any] = dict(zip(DecisionRow.__struct_fields__, values, strict=True))
    return DecisionRow(**named)
