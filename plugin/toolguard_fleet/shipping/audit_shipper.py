"""Sends the audit log of this machine to the fleet's database, line by line as it is.

The log stays the truth. The database says what it has (`audit_heads`); what follows is sent. Sending a line again changes
nothing, so a shipper may be killed at any moment, and two may run at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from toolguard_fleet.shipping.audit_reader import AuditReader, Batch, Gap, Position
from toolguard_fleet.shipping.chain_position import Head, Offer, locate
from toolguard_fleet.shipping.gateway_connection import GatewayConnection

ROWS = 500
BYTES = 512 * 1024
"""Of one batch."""

_HEADS = "fleet.audit_heads(%s, %s)"
_APPEND = "fleet.audit_append(%s, %s, %s, %s, %s::bytea[])"
_SKIP = "fleet.audit_skip(%s, %s, %s, %s, %s, %s, %s)"


class AuditRefused(Exception):  # noqa: N818 - an answer
    """The database does not take what the log has; one line says why and what to do."""


@dataclass
class AuditProgress:
    """`sent`: lines since the start; `behind`: lines that wait; `gaps`: those reported since the start."""

    sent: int = 0
    behind: int = 0
    gaps: int = 0


class _Answer(msgspec.Struct):
    outcome: str
    next: int = 0
    seq: int = 0
    why: str = ""


class AuditShipper:
    """`step` sends one batch. Call it again at once while it returns true."""

    def __init__(self, connection: GatewayConnection, state_dir: Path) -> None:
        self._connection = connection
        self._reader = AuditReader(state_dir)
        self._position: Position | None = None
        self.progress = AuditProgress()

    async def step(self) -> bool:
        """Whether something was sent, so that there may be more. Raises `AuditRefused`, `FleetError`, `OSError`; then
        nothing is assumed about what the database has."""
        position, self._position = self._position, None
        if position is None:
            position = await self._located()
            if position is None:
                return False
        self.progress.behind = await asyncio.to_thread(self._behind, position)
        batch = await asyncio.to_thread(self._reader.after, position, ROWS, BYTES)
        if batch == Batch():
            self._position = position
            return False
        self._position = await (self._skip(position, batch.gap) if batch.gap else self._append(position, batch))
        return self._position is not None  # otherwise the database is asked again after a pause

    def _behind(self, position: Position) -> int:
        last = self._reader.last()
        return max(0, last.seq - position.seq) if last else 0

    async def _located(self) -> Position | None:
        if await asyncio.to_thread(self._reader.first) is None:
            return None
        heads = msgspec.convert(await self._connection.ask(_HEADS), list[Head])
        position = await asyncio.to_thread(locate, self._reader, heads)
        if not isinstance(position, Offer):
            return position
        lines = position.lines
        answer = await self._ask(_APPEND, position.chain, lines[0].seq, [line.data for line in lines])
        raise AuditRefused(
            f"the audit log ends at line {lines[-1].seq}, and the fleet has {answer.next - 1} lines of it; if this state"
            " directory was restored from a backup, ask an admin of the fleet"
        )

    async def _append(self, position: Position, batch: Batch) -> Position | None:
        lines = batch.lines
        answer = await self._ask(_APPEND, position.chain, lines[0].seq, [line.data for line in lines])
        if answer.outcome != "stored" or answer.next != lines[-1].seq + 1:
            return None  # another shipper was quicker, or the database lost lines: it is asked again
        self.progress.sent += len(lines)
        return Position(position.chain, lines[-1].seq, lines[-1].hash)

    async def _skip(self, position: Position, gap: Gap) -> Position | None:
        answer = await self._ask(_SKIP, position.chain, position.seq + 1, gap.last, gap.hash, gap.reason)
        if answer.outcome != "stored":
            return None
        self.progress.gaps += 1
        return Position(position.chain, gap.last, gap.hash)

    async def _ask(self, function: Any, *arguments: object) -> _Answer:
        answer = msgspec.convert(await self._connection.ask(function, *arguments), _Answer)
        if answer.outcome == "fork":
            raise AuditRefused(
                f"the fleet has a different line {answer.seq} of this audit log: a copy of this gateway is running, or "
                "the log was rewritten; the gateway is in quarantine until an admin of the fleet admits it again"
            )
        if answer.outcome == "refused":
            raise AuditRefused(f"the fleet refuses line {answer.seq} of the audit log ({answer.why})")
        return answer
