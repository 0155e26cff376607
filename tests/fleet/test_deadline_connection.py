"""The courier's connection: every question ends in time, and a hint is a hint."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from fleet_database import FleetDatabase
from toolguard_fleet import connection_options, deadline_connection
from toolguard_fleet.deadline_connection import DeadlineConnection
from toolguard_fleet.fleet_errors import FleetError, UnreachableError
from toolguard_fleet.person_access import CHANNEL


def test_a_question_that_takes_too_long_ends_and_the_next_waits(database: FleetDatabase) -> None:
    async def run() -> None:
        connection = DeadlineConnection(database.dsn("toolguard_gateway"), "test")
        assert await connection.call("SELECT 1", (), 30) == 1
        with pytest.raises(UnreachableError, match="in time"):
            await connection.call("SELECT pg_sleep(30)", (), 0.2)
        with pytest.raises(UnreachableError, match="in time"):
            await connection.call("SELECT 1", (), 0.01)
        await asyncio.sleep(2.1)  # the longest first delay
        assert await connection.call("SELECT 2", (), 30) == 2
        await connection.close()

    asyncio.run(run())


def test_an_error_of_the_server_keeps_the_connection(database: FleetDatabase) -> None:
    async def run() -> None:
        connection = DeadlineConnection(database.dsn("toolguard_gateway"), "test")
        pid = await connection.call("SELECT pg_backend_pid()", (), 30)
        with pytest.raises(FleetError, match="division by zero") as failed:
            await connection.call("SELECT 1 / 0", (), 30)
        assert failed.value.code == "22012"
        assert await connection.call("SELECT pg_backend_pid()", (), 30) == pid
        await connection.close()

    asyncio.run(run())


@pytest.mark.parametrize("dsn", ["host=127.0.0.1 port=1 dbname=x", "host=/nowhere dbname=x"])
def test_no_server(dsn: str) -> None:
    async def run() -> None:
        connection = DeadlineConnection(dsn, "test")
        for _ in range(2):
            with pytest.raises(UnreachableError, match="cannot be reached"):
                await connection.call("SELECT 1", (), 5)

    began = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - began < 60


def test_a_notification_is_a_hint(database: FleetDatabase) -> None:
    async def run() -> None:
        connection, hint = DeadlineConnection(database.dsn("toolguard_gateway"), "test"), asyncio.Event()
        listening = asyncio.ensure_future(connection.listen(CHANNEL, hint, 30))
        while not hint.is_set():
            database.owner().execute(f"NOTIFY {CHANNEL}")
            await asyncio.sleep(0.05)
        listening.cancel()
        await connection.close()

    asyncio.run(asyncio.wait_for(run(), 60))


class Door:
    """A port before a server: nobody gets through until `is_open` is set, and nobody at all without a server."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.is_open = asyncio.Event()
        self.knocks = 0
        self._inside: set[asyncio.Future[None]] = set()
        self.dsn = ""

    async def enter(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.knocks += 1
        self._inside.add(asyncio.ensure_future(self._pass(reader, writer)))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.is_open.wait()
            if self._server_port:
                there, here = await asyncio.open_connection("127.0.0.1", self._server_port)
                await asyncio.gather(_pour(reader, here), _pour(there, writer))
        finally:
            await _shut(writer)

    async def close(self) -> None:
        for each in self._inside:
            each.cancel()
        await asyncio.gather(*self._inside, return_exceptions=True)


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    finally:
        await _shut(writer)


async def _shut(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@asynccontextmanager
async def opened_door(database: FleetDatabase, server_port: int) -> AsyncIterator[Door]:
    door = Door(server_port)
    async with await asyncio.start_server(door.enter, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        own = database.dsn("toolguard_gateway", tcp=True)
        door.dsn = own.replace(f"port={database.server.port}", f"port={port}")
        try:
            yield door
        finally:
            await door.close()


def test_a_connection_outlives_the_question_that_wanted_it(database: FleetDatabase) -> None:
    async def run() -> None:
        async with opened_door(database, database.server.port) as door:
            connection = DeadlineConnection(door.dsn, "test")
            for _ in range(3):
                with pytest.raises(UnreachableError, match="in time"):
                    await connection.call("SELECT 1", (), 0.2)
            door.is_open.set()
            assert await connection.call("SELECT 2", (), 30) == 2
            assert door.knocks == 1
            await connection.close()

    asyncio.run(asyncio.wait_for(run(), 120))


def test_one_that_is_being_made_can_be_closed(database: FleetDatabase) -> None:
    async def run() -> None:
        async with opened_door(database, database.server.port) as door:
            connection = DeadlineConnection(door.dsn, "test")
            with pytest.raises(UnreachableError, match="in time"):
                await connection.call("SELECT 1", (), 0.2)
            await connection.close()
            door.is_open.set()
            assert await connection.call("SELECT 2", (), 30) == 2
            assert door.knocks == 2
            await connection.close()

    asyncio.run(asyncio.wait_for(run(), 120))


def test_where_somebody_waits_a_long_delay_does_not_count(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline_connection, "FIRST_DELAY", 0.0)
    monkeypatch.setattr(deadline_connection.random, "uniform", lambda _least, _most: 3_600.0)

    async def run() -> None:
        async with opened_door(database, 0) as door:
            door.is_open.set()
            connection = DeadlineConnection(door.dsn, "test")
            knocks = []
            for at_once in (False, False, True, False, True):
                with pytest.raises(UnreachableError, match="cannot be reached"):
                    await connection.call("SELECT 1", (), 30, at_once=at_once)
                knocks.append(door.knocks)
            assert knocks == [1, 1, 2, 2, 3]
            await connection.close()

    asyncio.run(asyncio.wait_for(run(), 120))


def test_a_connection_is_given_back_when_nobody_uses_it(database: FleetDatabase) -> None:
    async def run() -> None:
        connection = DeadlineConnection(database.dsn("toolguard_gateway"), "test")
        first = await connection.call("SELECT pg_backend_pid()", (), 30)
        await connection.close_idle(3_600)
        asked = asyncio.ensure_future(connection.call("SELECT pg_backend_pid() FROM pg_sleep(0.5)", (), 30))
        await asyncio.sleep(0)
        await connection.close_idle(0)
        assert await asked == first
        await connection.close_idle(0)
        assert await connection.call("SELECT pg_backend_pid()", (), 30) != first
        await connection.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("dsn", "seconds"),
    [
        ("host=127.0.0.1", 15),
        ("host=127.0.0.1,127.0.0.2", connection_options.CONNECT_SECONDS),
        ("host=127.0.0.1 connect_timeout=3", "3"),
    ],
)
def test_a_single_host_has_longer(dsn: str, seconds: object) -> None:
    assert connection_options.options(dsn, "test", 15)["connect_timeout"] == seconds


def test_who_gets_the_turn_too_late_leaves_the_connection_alone(database: FleetDatabase) -> None:
    async def run() -> None:
        connection = DeadlineConnection(database.dsn("toolguard_gateway"), "test")
        first = await connection.call("SELECT pg_backend_pid()", (), 60)
        slow = asyncio.ensure_future(connection.call("SELECT pg_backend_pid() FROM pg_sleep(1)", (), 60))
        late = [asyncio.ensure_future(connection.call("SELECT 1 FROM pg_sleep(5)", (), each)) for each in (1.05, 1.1, 1.2)]
        for each in late:
            with pytest.raises(UnreachableError, match="does not answer"):
                await each
        assert await slow == first
        assert await connection.call("SELECT pg_backend_pid()", (), 60) == first
        await connection.close()

    asyncio.run(asyncio.wait_for(run(), 120))
