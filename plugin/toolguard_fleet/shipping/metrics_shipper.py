"""Sends model calls, verdicts and standings of this machine to the fleet's database, and takes its turn at the sums.

The metrics file stays the truth. The database says which rows of a stream it has (`record_head`) and takes each row once, so
a shipper may be killed at any moment, and two may run at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from psycopg.types.json import Jsonb

from toolguard_fleet.fleet_errors import QUOTA, QUOTA_RETRY, FleetError
from toolguard_fleet.shipping.gateway_connection import GatewayConnection
from toolguard_fleet.shipping.metrics_reader import MetricsReader, Rows, Stream
from toolguard_fleet.shipping.standing_copies import StandingCopies

ROWS = 500
"""Of each kind in one batch: some 300 kB."""

SUM_SECONDS = 60.0
TURNS = 3
"""How often a gateway that sent rows asks to sum them, if others lead: one of them leads after the rows were stored."""

STANDING_SECONDS = 60.0

_HEAD = "fleet.record_head(%s, %s, %s)"
_RECORD = "fleet.record(%s, %s, %s)"
_STANDINGS = "fleet.record_standings(%s, %s, %s)"
_SUM_UP = "fleet.sum_up(%s, %s)"


@dataclass
class MetricsProgress:
    """What was done since the start: rows `sent`, and parts of sums moved while this gateway led (`summed`). `behind`: rows
    that wait, at most: the file counts those of all gateways of the machine."""

    sent: int = 0
    behind: int = 0
    summed: int = 0


class _Stored(msgspec.Struct):
    calls: int
    verdicts: int


class MetricsShipper:
    """`step` sends one batch. Call it again at once while it returns true. `clock`: seconds of a monotonic clock."""

    def __init__(
        self, connection: GatewayConnection, state_dir: Path, path: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._connection = connection
        self._reader = MetricsReader(path, state_dir)
        self._standings = StandingCopies(state_dir)
        self._clock = clock
        self._known: tuple[str, _Stored] | None = None
        self._turns = TURNS
        self._refused: FleetError | None = None
        self._offer_at = float("-inf")
        self._summed_at = self._copied_at = float("-inf")
        self.progress = MetricsProgress()

    async def step(self) -> bool:
        """Whether there may be more to send right now. Raises `FleetError`, `StoreError`, `OSError`; then nothing is
        assumed about what the database has."""
        known, self._known = self._known, None
        stream = await asyncio.to_thread(self._reader.stream)
        if stream is None:
            return False
        has_more = await self._offer(stream, known)
        await self._copy_standings()
        has_more = await self._sum_up() or has_more
        if self._refused is not None:
            raise self._refused
        return has_more

    async def _offer(self, stream: Stream, known: tuple[str, _Stored] | None) -> bool:
        """Sends the next rows, unless the database has refused some for the quota lately. Whether there may be more."""
        if self._refused is not None and self._clock() < self._offer_at:
            return False
        self._refused = None
        if known is None or known[0] != stream.name:
            known = stream.name, msgspec.convert(await self._connection.ask(_HEAD, stream.name), _Stored)
        stored = before = known[1]
        rows = await asyncio.to_thread(self._reader.after, stream, stored.calls, stored.verdicts, ROWS)
        if rows.calls or rows.verdicts:
            try:
                stored = await self._record(stream, rows)
            except FleetError as error:
                if error.code != QUOTA:
                    raise
                self._refused, self._offer_at = error, self._clock() + QUOTA_RETRY
                return False
        self._known = stream.name, stored
        self.progress.behind = stream.calls - stored.calls if len(rows.calls) == ROWS else 0
        return ROWS in (len(rows.calls), len(rows.verdicts)) and stored != before

    async def _record(self, stream: Stream, rows: Rows) -> _Stored:
        sent = Jsonb({"stream": stream.name, "calls": rows.calls, "verdicts": rows.verdicts}, dumps=msgspec.json.encode)
        stored = msgspec.convert(await self._connection.ask(_RECORD, sent), _Stored)
        self.progress.sent += len(rows.calls) + len(rows.verdicts)
        self._turns = TURNS
        return stored

    async def _sum_up(self) -> bool:
        """Whether there is more to sum. The database decides which gateway leads."""
        if not self._turns or self._clock() - self._summed_at < SUM_SECONDS:
            return False
        answer: dict[str, Any] = await self._connection.ask(_SUM_UP)
        self.progress.summed += answer["moved"]
        if not answer["more"]:
            self._summed_at = self._clock()
            self._turns = 0 if answer["led"] else self._turns - 1
        return bool(answer["more"] and answer["moved"])

    async def _copy_standings(self) -> None:
        if self._clock() - self._copied_at < STANDING_SECONDS:
            return
        changed = await asyncio.to_thread(self._standings.changed)
        if changed:
            await self._connection.ask(_STANDINGS, Jsonb(changed, dumps=msgspec.json.encode))
            self._standings.sent(changed)
        self._copied_at = self._clock()
