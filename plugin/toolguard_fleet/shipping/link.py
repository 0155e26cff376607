"""A connection to the database for one shipper: opened when it is needed, closed when it is idle, dropped on any error.

A frozen server answers nothing and libpq waits for ever, so each question has a deadline of its own; what is not answered
in time is asked again on a new connection. All functions that are asked here are idempotent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, LiteralString

import psycopg

Connect = Callable[[], Awaitable[psycopg.AsyncConnection[Any]]]
"""Opens a connection in autocommit mode."""

ANSWER_SECONDS = 30.0
CLOSE_SECONDS = 1.0


class Link:
    """Asks as one gateway. `ask` raises `psycopg.Error`, `OSError` and `TimeoutError`."""

    def __init__(self, connect: Connect, gateway: str, token: bytes, seconds: float = ANSWER_SECONDS) -> None:
        self._connect = connect
        self._who = (gateway, token)
        self._seconds = seconds
        self._connection: psycopg.AsyncConnection[Any] | None = None

    async def ask(self, function: LiteralString, *arguments: object) -> Any:
        """`function`: a call whose first two arguments are the gateway and its token. Returns its only value."""
        try:
            async with asyncio.timeout(self._seconds):
                if self._connection is None:
                    self._connection = await self._connect()
                query = f"SELECT {function}"
                cursor = await self._connection.execute(query, (*self._who, *arguments), prepare=False)
                row = await cursor.fetchone()
        except BaseException:
            await self.close()
            raise
        return row[0] if row else None

    async def close(self) -> None:
        """Never waits for a server that does not answer."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error, OSError, TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await connection.close()
