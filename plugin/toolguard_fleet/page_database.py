"""The fleet's database as the dashboard uses it: one login, every question within a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any, LiteralString, TypeVar

import msgspec

from toolguard_fleet.deadline_connection import DeadlineConnection
from toolguard_fleet.fleet_errors import FleetError, UnreachableError

CONNECTIONS = 6
SECONDS = 8.0
"""For one question. The server ends the login's questions after 5 s by itself."""

T = TypeVar("T")


class PageDatabase:
    """Some connections of a thread of its own; questions come from any thread. Use it as a context manager."""

    def __init__(self, dsn: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._connections = [DeadlineConnection(dsn, "fleet dashboard") for _ in range(CONNECTIONS)]
        self._open = asyncio.Semaphore(CONNECTIONS)
        self._free = list(self._connections)
        self._thread = Thread(target=self._loop.run_forever, name="fleet database", daemon=True)

    def ask(self, statement: LiteralString, arguments: tuple[Any, ...], kind: type[T]) -> T:
        """The first column of the first row as `kind`. Raises `FleetError`: `UnreachableError` without an answer."""
        asked: Future[Any] = asyncio.run_coroutine_threadsafe(self._ask(statement, arguments), self._loop)
        answer = asked.result()
        try:
            return msgspec.convert(answer, kind)
        except msgspec.ValidationError as error:
            raise FleetError(f"the fleet's database returned an unexpected answer: {error}") from error

    async def _ask(self, statement: LiteralString, arguments: tuple[Any, ...]) -> Any:
        until = self._loop.time() + SECONDS
        try:
            async with asyncio.timeout_at(until):
                await self._open.acquire()
        except TimeoutError:
            raise UnreachableError("the fleet's database is busy") from None
        connection = self._next()
        try:
            return await connection.call(statement, arguments, until - self._loop.time())
        finally:
            self._free.append(connection)
            self._open.release()

    def _next(self) -> DeadlineConnection:
        """The one that was used last, if the server can be asked by it: one slow question must not refuse the others."""
        chosen = next((connection for connection in reversed(self._free) if connection.is_ready), self._free[-1])
        self._free.remove(chosen)
        return chosen

    def __enter__(self) -> PageDatabase:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._connections:
            self._run(connection.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Callable[[], Any]) -> None:
        asyncio.run_coroutine_threadsafe(work(), self._loop).result(SECONDS)
