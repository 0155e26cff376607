"""The courier's connection: every question ends in time, and a hint is a hint."""

from __future__ import annotations

import asyncio
import time

import pytest

from fleet_database import FleetDatabase
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
