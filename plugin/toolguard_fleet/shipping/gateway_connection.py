"""Asks the database as one gateway. All functions that shippers ask are idempotent, so an answer that was lost is asked for
again."""

from __future__ import annotations

from typing import Any, LiteralString

from toolguard_fleet.deadline_connection import DeadlineConnection

ANSWER_SECONDS = 10.0
"""More than the database lets a gateway's statement take."""


class GatewayConnection:
    """`ask` raises `FleetError`; then nothing is known about what the database did."""

    def __init__(self, connection: DeadlineConnection, gateway: str, token: bytes, seconds: float = ANSWER_SECONDS) -> None:
        self._connection = connection
        self._who = (gateway, token)
        self._seconds = seconds

    async def ask(self, function: LiteralString, *arguments: object) -> Any:
        """`function`: a call whose first two arguments are the gateway and its token. Returns its only value."""
        return await self._connection.call(f"SELECT {function}", (*self._who, *arguments), self._seconds)

    async def close_idle(self, seconds: float) -> None:
        """See `DeadlineConnection.close_idle`: others may share the connection."""
        await self._connection.close_idle(seconds)
