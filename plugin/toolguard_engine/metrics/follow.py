"""Copies the audit log of a state directory into `toolguard_verdicts`: events of the engine, the command line and the
dashboard.

Invariants: the log is the truth, the table a copy. The last copied line is stored in the metrics file together with the
rows, so that none is lost when a process dies; a line that is read twice counts once (`VerdictRecord.event`). If the log
begins with another line, or no longer has the last copied one, it was replaced or cut, and is read from its start. Lines
older than the retention are skipped, so that removed rows do not come back.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec

from toolguard_engine.metrics import bounds
from toolguard_engine.metrics.row_writer import VerdictRecord, record_verdicts
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.atomic import opened
from toolguard_engine.stores.transactions import transaction

STEP_BYTES = 32 * 1024
"""Read at once: about 70 lines, and more than the longest line that we write. A verdict waits meanwhile."""

MAX_SEQ = 2**63 - 1
"""SQLite's largest integer."""

DECISIONS = {
    "hold": "hold",
    "hold-again": "hold",
    "block": "block",
    "deny": "block",
    "expire": "block",
    "stop": "block",
    "error": "block",
    "forged": "block",
}
"""What an event means for its call; all others let it run, or concern none."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class AuditLine(msgspec.Struct):
    """The part of an audit line that is copied."""

    seq: Annotated[int, msgspec.Meta(ge=0, le=MAX_SEQ)]
    id: str
    time: str
    event: str
    code: str = ""
    nonce: str = ""
    tool: str = ""
    agent: str = ""
    session: str = ""
    run: str = ""
    by: str = ""
    where: str = ""
    reason: str = ""
    why: str = ""
    shown: str = ""


_DECODER = msgspec.json.Decoder(AuditLine)


class Follower:
    """Follows one log for one gateway. Call `step` repeatedly."""

    def __init__(self, state_dir: Path, gateway: str) -> None:
        self._log = stores.audit_log(state_dir)
        self._gateway = gateway
        self._first = ""
        self._part = 0
        """Inode of the part that is read; 0: none."""
        self._offset = 0

    def step(self, connection: sqlite3.Connection, now: int, since: int) -> bool:
        """Copies some lines; returns whether there may be more right now. Times are milliseconds since 1970; lines from
        before `since` are skipped. Raises `OSError` and SQLite's errors."""
        parts = self._log.files()
        if not parts:
            return False
        path, behind = self._whereabouts(connection, parts)
        with opened(path) as file:
            data = os.pread(file.fileno(), STEP_BYTES, self._offset)
        whole = data.rfind(b"\n") + 1 or (len(data) if len(data) == STEP_BYTES else 0)
        if whole:
            self._take(connection, data[:whole], now, since)
            self._offset += whole
        elif behind:
            self._part, self._offset = _inode(behind[0]), 0
        return bool(whole or behind)

    def _whereabouts(self, connection: sqlite3.Connection, parts: list[Path]) -> tuple[Path, list[Path]]:
        """The part to read now, and the parts after it."""
        if (first := _first_line(parts[0])) != self._first:
            self._first = first
            if self._part not in map(_inode, parts[1:]):  # otherwise only the oldest part was removed
                self._part = 0
        for number, path in enumerate(parts):
            stat = path.stat()
            if stat.st_ino == self._part and stat.st_size >= self._offset:
                return path, parts[number + 1 :]
        last, taken_from = connection.execute(_POSITION, (self._gateway,)).fetchone() or (0, "")
        found = _find(parts, last) if last and taken_from == self._first else None
        number, self._offset = found or (0, 0)
        self._part = _inode(parts[number])
        return parts[number], parts[number + 1 :]

    def _take(self, connection: sqlite3.Connection, data: bytes, now: int, since: int) -> None:
        lines = list(_lines(data))
        if not lines:
            return
        verdicts = [bounds.verdict(one, now) for line in lines if (one := _verdict(line, self._gateway)) and one.at >= since]
        with transaction(connection):
            record_verdicts(connection, verdicts)
            connection.execute(_MOVE, (lines[-1].seq, self._first, self._gateway))


def _lines(data: bytes) -> Iterator[AuditLine]:
    """Those that toolguard wrote."""
    for line in data.split(b"\n"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            yield _DECODER.decode(line)


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


def _find(parts: list[Path], seq: int) -> tuple[int, int] | None:
    """The part that has the line with this number, and where that line ends; the newest part first."""
    mark = b'{"seq":%d,' % seq
    for number in reversed(range(len(parts))):
        with opened(parts[number]) as file:
            while line := file.readline(STEP_BYTES):
                if line.startswith(mark) and line.endswith(b"\n"):
                    return number, file.tell()
    return None


def _first_line(path: Path) -> str:
    with opened(path) as file:
        return sha256(file.readline(STEP_BYTES)).hexdigest()


def _inode(path: Path) -> int:
    return path.stat().st_ino


_POSITION = "SELECT audit_seq, audit_first FROM toolguard_gateways WHERE id = ?"
_MOVE = "UPDATE toolguard_gateways SET audit_seq = ?, audit_first = ? WHERE id = ?"
