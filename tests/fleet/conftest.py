"""Fixtures of the fleet's tests: a PostgreSQL server for each worker, a fresh database for each test.

Without PostgreSQL they are skipped; with `TOOLGUARD_TEST_POSTGRES=required` they fail.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fleet_database import Connection, FleetDatabase, make_template
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres, programs

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))  # the command line in this process


@pytest.fixture(scope="session")
def postgres() -> Iterator[TemporaryPostgres]:
    """The server; `fsync` is on. Tests that stop or slow it down start their own."""
    if programs() is None:
        missing = "PostgreSQL 15 or later is not installed (Debian: apt-get install postgresql)"
        if os.environ.get("TOOLGUARD_TEST_POSTGRES") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    with TemporaryPostgres() as server:
        make_template(server)
        yield server


@pytest.fixture
def database(postgres: TemporaryPostgres) -> Iterator[FleetDatabase]:
    """A fresh database with the schema. `database.gateway()` and `database.person(...)` make what a test needs."""
    made = FleetDatabase(postgres)
    yield made
    made.close()


@pytest.fixture
def owner(database: FleetDatabase) -> Connection:
    return database.owner()


@pytest.fixture
def gateway_login(database: FleetDatabase) -> Connection:
    return database.gateway_login()


@pytest.fixture
def person(database: FleetDatabase) -> Callable[..., Connection]:
    return database.person
