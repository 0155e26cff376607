"""Reads the rows of one gateway from the machine's metrics file, as they are sent to the fleet.

The file is shared by the gateways of a machine, and its rows are numbered over all of them. A row is sent without the text
of its call. What toolguard imported from another plugin stays on the machine.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from toolguard_engine.metrics.bounds import MAX_COST, MAX_DURATION_MS, MAX_TOKENS, clean
from toolguard_engine.metrics.database import Missing
from toolguard_engine.metrics.read_database import asked
from toolguard_engine.metrics.row_writer import OWN

_CALLS = f"""
    SELECT id AS seq, at, agent, session, channel, provider, model, input, output, cache_read, cache_write, total, cost_usd,
        cost_estimated AS estimated, duration_ms, outcome
    FROM toolguard_calls WHERE id > ? AND gateway = ? AND source = {OWN} ORDER BY id LIMIT ?"""  # noqa: S608 - our own number
_VERDICTS = """
    SELECT id AS seq, at, agent, session, run, tool, decision, code, kind, nonce, person, place
    FROM toolguard_verdicts WHERE id > ? AND gateway = ? AND kind <> 'allow' ORDER BY id LIMIT ?"""
_GATEWAY = "SELECT id FROM toolguard_gateways WHERE state_dir IN (?, ?)"
_CREATED = "SELECT applied_at FROM toolguard_schema ORDER BY version LIMIT 1"
_ENDS = "SELECT (SELECT coalesce(max(id), 0) FROM toolguard_calls), (SELECT coalesce(max(id), 0) FROM toolguard_verdicts)"

_NUMBERS = {
    "input": MAX_TOKENS, "output": MAX_TOKENS, "cache_read": MAX_TOKENS, "cache_write": MAX_TOKENS, "total": MAX_TOKENS,
    "duration_ms": MAX_DURATION_MS, "cost_usd": MAX_COST, "at": 2**53,
}  # fmt: skip
_NULLABLE = frozenset({"cost_usd", "duration_ms"})


class Stream(NamedTuple):
    """One metrics file of one gateway. `name` stays the same as long as the file is not replaced. `calls`, `verdicts`: the
    last rows of the file, whoever they belong to."""

    name: str
    gateway: str
    calls: int
    verdicts: int


class Rows(NamedTuple):
    calls: list[dict[str, Any]]
    verdicts: list[dict[str, Any]]


class MetricsReader:
    """Raises `MetricsError`."""

    def __init__(self, path: Path, state_dir: Path) -> None:
        self._path = path
        self._state_dir = state_dir

    def stream(self) -> Stream | None:
        """None while the gateway has written nothing."""
        with self._opened() as connection:
            if connection is None:
                return None
            dirs = (str(self._state_dir), str(self._state_dir.resolve()))
            gateway = connection.execute(_GATEWAY, dirs).fetchone()
            if gateway is None:
                return None
            (created,) = connection.execute(_CREATED).fetchone()
            calls, verdicts = connection.execute(_ENDS).fetchone()
            name = sha256(f"{created} {gateway[0]} {dirs[1]}".encode(errors="replace")).hexdigest()[:16]
            return Stream(name, gateway[0], calls, verdicts)

    def after(self, stream: Stream, calls: int, verdicts: int, most: int) -> Rows:
        """Returns at most so many rows of each kind after these, in order."""
        with self._opened() as connection:
            if connection is None:
                return Rows([], [])
            connection.row_factory = sqlite3.Row
            cursor = connection.execute(_CALLS, (calls, stream.gateway, most))
            others = connection.execute(_VERDICTS, (verdicts, stream.gateway, most))
            return Rows([_bounded(row) for row in cursor], [_bounded(row) for row in others])

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection | None]:
        try:
            with asked(self._path) as connection:
                yield connection
        except Missing:
            yield None


def _bounded(row: sqlite3.Row) -> dict[str, Any]:
    """The values as the database takes them, whatever the file holds."""
    return {name: _value(name, row[name]) for name in row.keys()}  # noqa: SIM118 - iterating a row gives its values


def _value(name: str, value: object) -> object:
    if name == "seq":
        return value
    if name == "estimated":
        return bool(value)
    if name not in _NUMBERS:
        return clean(str(value))
    if not isinstance(value, int | float):
        return None if name in _NULLABLE else 0
    if not 0 <= value <= _NUMBERS[name]:  # also NaN
        return None if name in _NULLABLE else 0
    return value if name == "cost_usd" else int(value)
