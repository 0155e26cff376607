"""A connection to the fleet's database on which every question ends in time, whatever the server does.

libpq's own timeouts do not end a question to a frozen server, and psycopg would wait for such a server to confirm that a
cancelled one is over. So the socket is shut down at the deadline: the question fails at once, and the connection is dropped.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
from contextlib import suppress
from typing import Any, LiteralString

import msgspec
import psycopg
from psycopg.types.json import set_json_loads

from toolguard_fleet import connection_options
from toolguard_fleet.fleet_errors import BusyError, FleetError, UnreachableError

FIRST_DELAY, MAX_DELAY = 1.0, 30.0
SEVERED_SECONDS = 1.0
"""For which a question may go on behind a connection that was shut down."""

PATIENCE = 15
"""Seconds for making a connection where there is no other host to try: a server that thousands reach at once is slow."""

LOST = (psycopg.OperationalError, psycopg.InterfaceError, OSError)
BUSY = ("40", "53", "55", "57014")
"""Beginnings of SQLSTATEs: conflicts, no room, locks, a limit of time. psycopg counts most of them as operational errors."""

LOST_OR_UNKNOWN = (psycopg.Error, OSError, UnicodeError)
MAX_ERROR = 200
NO_ANSWER = "the fleet's database does not answer"

LEAST_SECONDS = 0.25
"""For a question. Who gets the turn later does not ask: its deadline would end a connection that is in order."""


class DeadlineConnection:
    """Asks one question at a time. After a failure it connects again no sooner than after a random delay, which grows from 1
    to 30 s, so that a server that comes back is not asked by all gateways at once.

    A connection that is being made outlives the question that needed it: a server that is slow to accept would otherwise be
    asked to begin anew by every question, and have all the work of a login for nothing.
    """

    def __init__(self, dsn: str, name: str) -> None:
        self._dsn = dsn
        self._name = name
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._connecting: asyncio.Future[psycopg.AsyncConnection[Any]] | None = None
        self._turn = asyncio.Lock()
        self._failures = 0
        self._failed_at = self._not_before = float("-inf")
        self._asked_at = 0.0
        self._error = ""

    @property
    def is_ready(self) -> bool:
        """Whether a question would be asked, and not refused because of an earlier failure."""
        return self._connection is not None or self._connecting is not None or self._may_connect(at_once=False)

    def _may_connect(self, *, at_once: bool) -> bool:
        return asyncio.get_running_loop().time() >= (self._failed_at + FIRST_DELAY if at_once else self._not_before)

    async def call(
        self, statement: LiteralString, arguments: tuple[Any, ...], seconds: float, *, at_once: bool = False
    ) -> Any:
        """The first column of the first row; None without one. Raises `FleetError`; `UnreachableError` without an answer.
        `at_once`: somebody waits, so it connects again after 1 s however long the delay is."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        latest = until - min(LEAST_SECONDS, seconds / 2)
        try:
            async with asyncio.timeout_at(latest):
                await self._turn.acquire()
        except TimeoutError:
            raise UnreachableError(NO_ANSWER) from None
        if loop.time() > latest:  # where the loop itself was late
            self._turn.release()
            raise UnreachableError(NO_ANSWER)
        try:
            connection = await self._connected(until, at_once=at_once)
            return await self._asked(connection, statement, arguments, until)
        finally:
            self._asked_at = asyncio.get_running_loop().time()
            self._turn.release()

    async def _asked(
        self, connection: psycopg.AsyncConnection[Any], statement: LiteralString, arguments: tuple[Any, ...], until: float
    ) -> Any:
        asked = asyncio.ensure_future(_first(connection, statement, arguments))
        await asyncio.wait({asked}, timeout=until - asyncio.get_running_loop().time())
        if not asked.done():
            _sever(connection)
            await asyncio.wait({asked}, timeout=SEVERED_SECONDS)
            asked.cancel()
            with suppress(BaseException):
                asked.exception()
            raise await self._lost("it did not answer in time")
        try:
            return asked.result()
        except (*LOST, psycopg.Error) as error:
            code = error.sqlstate or "" if isinstance(error, psycopg.Error) else ""
            if code.startswith(BUSY) and not connection.closed:
                raise BusyError(one_line(error), code) from error
            if isinstance(error, LOST):
                raise await self._lost(one_line(error)) from error
            raise FleetError(one_line(error), code) from error

    async def _connected(self, until: float, *, at_once: bool) -> psycopg.AsyncConnection[Any]:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        loop = asyncio.get_running_loop()
        if self._connecting is None:
            if not self._may_connect(at_once=at_once):
                raise UnreachableError(self._error)
            self._connecting = asyncio.ensure_future(self._connect())
        made = self._connecting
        await asyncio.wait({made}, timeout=until - loop.time())
        if not made.done():
            raise UnreachableError("the fleet's database cannot be reached: it did not answer in time")
        self._connecting = None
        try:
            self._connection, self._failures = made.result(), 0
        except LOST_OR_UNKNOWN as error:
            raise await self._lost(one_line(error)) from error
        return self._connection

    async def _connect(self) -> psycopg.AsyncConnection[Any]:
        options = connection_options.options(self._dsn, f"toolguard {self._name}", PATIENCE)
        async with asyncio.timeout(2 * PATIENCE):  # libpq's limit is for each address, and names may take long
            connection = await psycopg.AsyncConnection.connect(autocommit=True, prepare_threshold=None, **options)
        set_json_loads(msgspec.json.decode, connection)
        return connection

    async def _lost(self, why: str) -> UnreachableError:
        self._failures += 1
        self._error = f"the fleet's database cannot be reached: {why}"
        longest = min(MAX_DELAY, FIRST_DELAY * 2**self._failures)
        self._failed_at = asyncio.get_running_loop().time()
        self._not_before = self._failed_at + random.uniform(FIRST_DELAY, longest)  # noqa: S311
        await self.close()
        return UnreachableError(self._error)

    async def listen(self, channel: LiteralString, hear: asyncio.Event, seconds: float) -> None:
        """Sets the event at each notification, until the connection is lost. Raises `FleetError`."""
        await self.call(f"LISTEN {channel}", (), seconds)
        connection = self._connection
        if connection is None:
            return
        try:
            async for _ in connection.notifies():
                hear.set()
        except LOST as error:
            raise await self._lost(one_line(error)) from error

    async def close_idle(self, seconds: float) -> None:
        """Gives the connection back unless it is in use, or was in the last `seconds`. The next question connects again."""
        if not self._turn.locked() and asyncio.get_running_loop().time() - self._asked_at >= seconds:
            await self.close()

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        made, self._connecting = self._connecting, None
        if made is not None:
            made.cancel()
            await asyncio.wait({made})
            if not made.cancelled() and made.exception() is None:
                connection = made.result()
        if connection is not None:
            with suppress(*LOST):
                await connection.close()


async def _first(connection: psycopg.AsyncConnection[Any], statement: LiteralString, arguments: tuple[Any, ...]) -> Any:
    cursor = await connection.execute(statement, arguments)
    row = await cursor.fetchone() if cursor.description else None
    return row[0] if row else None


def _sever(connection: psycopg.AsyncConnection[Any]) -> None:
    """What waits for the socket finds it at its end."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as ours:
        ours.shutdown(socket.SHUT_RDWR)


def one_line(error: BaseException) -> str:
    """Printable and bounded. Errors of libpq name hosts and users, never passwords."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    text = " ".join((primary or str(error)).split()) or type(error).__name__
    return "".join(sign if sign.isprintable() else "?" for sign in text)[:MAX_ERROR]
