"""Copies the audit log of a state directory into `toolguard_verdicts`: events of the engine, the command line and the
dashboard.

Invariants: the log is the truth, the table a copy. The last copied line is stored in the metrics file together with the
rows, so that none is lost when a process dies; a line that is read twice counts once (`VerdictRecord.event`). If the log
begins with another line, or no longer has the last copied one, it was replaced or cut, and is read from its start. Lines
older than the retention are skipped, so that removed rows do not come back.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

from toolguard_engine.metrics import bounds
from toolguard_engine.metrics.row_writer import VerdictRecord, record_verdicts
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.audit_tail import AuditLine, AuditTail, Chunk, lines_in
from toolguard_engine.stores.transactions import transaction

DECISIONS = {
    "hold": "hold",
    "hold-again": "hold",
    "block": "block",
    "deny": "block",
    "expire": "block",
    "lapsed": "block",
    "stop": "block",
    "error": "block",
    "forged": "block",
}
"""What an event means for its call; all others let it run, or concern none."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Follower:
    """Follows one log for one gateway. Call `step` repeatedly."""

    def __init__(self, state_dir: Path, gateway: str) -> None:
        self._tail = AuditTail(stores.audit_log(state_dir))
        self._gateway = gateway

    def step(self, connection: sqlite3.Connection, now: int, since: int) -> bool:
        """Copies some lines; returns whether there may be more right now. Times are milliseconds since 1970; lines from
        before `since` are skipped. Raises `OSError` and SQLite's errors."""
        chunk = self._tail.read(lambda: connection.execute(_POSITION, (self._gateway,)).fetchone() or (0, ""))
        if chunk.data:
            self._take(connection, chunk, now, since)
        return self._tail.passed(chunk)

    def _take(self, connection: sqlite3.Connection, chunk: Chunk, now: int, since: int) -> None:
        lines = list(lines_in(chunk.data))
        if not lines:
            return
        verdicts = [bounds.verdict(one, now) for line in lines if (one := _verdict(line, self._gateway)) and one.at >= since]
        with transaction(connection):
            record_verdicts(connection, verdicts)
            connection.execute(_MOVE, (lines[-1].seq, chunk.first, self._gateway))


def _verdict(line: AuditLine, gateway: str) -> VerdictRecord | None:
    if (at := _time(line.time)) is None:
        return None
    return VerdictRecord(
        at=at,
        gateway=gateway,
        agent=line.agent,
        session=line.session,
        run=line.run,
        tool=line.tool,
        decision=DECISIONS.get(line.event, "allow"),
        code=line.code,
        reason=line.reason or line.why,
        kind=line.event,
        event=f"{line.id} {line.time}",
        nonce=line.nonce,
        shown=line.shown,
        person=line.by,
        place=line.where,
    )


def _time(text: str) -> int | None:
    """Milliseconds since 1970, if it is a time."""
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError, TypeError):
        return None


_POSITION = "SELECT audit_seq, audit_first FROM toolguard_gateways WHERE id = ?"
_MOVE = "UPDATE toolguard_gateways SET audit_seq = ?, audit_first = ? WHERE id = ?"
