"""Fixtures of the fleet's tests: a PostgreSQL server for each worker, a fresh database for each test.

Without PostgreSQL they are skipped; with `TOOLGUARD_TEST_POSTGRES=required` they fail.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from database_pool import DatabasePool
from fleet_database import Connection, FleetDatabase
from fleet_servers import SharedPostgres
from toolguard_cli.rig.temporary_postgres import programs

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))  # the command line in this process


@pytest.fixture(scope="session")
def postgres() -> Iterator[SharedPostgres]:
    """The server of most tests."""
    if programs() is None:
        missing = "PostgreSQL 15 or later is not installed (Debian: apt-get install postgresql)"
        if os.environ.get("TOOLGUARD_TEST_POSTGRES") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    with SharedPostgres() as server:
        yield server


@pytest.fixture(scope="session")
def database_pool(postgres: SharedPostgres) -> Iterator[DatabasePool]:
    pool = DatabasePool(postgres)
    yield pool
    pool.close()


@pytest.fixture
def database(database_pool: DatabasePool) -> Iterator[FleetDatabase]:
    """A database with the schema, as a new one. `database.gateway()` and `database.person(...)` make what a test needs."""
    with database_pool.database() as made:
        yield made


@pytest.fixture
def owner(database: FleetDatabase) -> Connection:
    return database.owner()


@pytest.fixture
def gateway_login(database: FleetDatabase) -> Connection:
    return database.gateway_login()


@pytest.fixture
def person(database: FleetDatabase) -> Callable[..., Connection]:
    return database.person
