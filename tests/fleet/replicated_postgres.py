"""A PostgreSQL with a standby that follows by streaming replication."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from fleet_desk import wait_until
from fleet_servers import OwnPostgres, SharedPostgres
from toolguard_cli.rig.temporary_postgres import SUPERUSER, NoPostgresError, TemporaryPostgres

NAME = "standby"


class Standby(TemporaryPostgres):
    """Begins as a copy of the primary, and follows it."""

    def __init__(self, primary: TemporaryPostgres) -> None:
        self._primary = primary
        super().__init__({"hot_standby": "on"})

    def _create(self) -> None:
        source = f"{self._primary.dsn(SUPERUSER)} application_name={NAME}".replace("dbname=postgres ", "")
        command = [self._programs / "pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "-d", source]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False, **self._as_user)
        if done.returncode != 0:
            raise NoPostgresError(f"pg_basebackup failed: {done.stderr}")

    def promote(self) -> None:
        """Returns when it takes writes."""
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            row = connection.execute("SELECT pg_promote(true, 120)").fetchone()
            assert row == (True,)


@contextmanager
def primary(shared: SharedPostgres) -> Iterator[TemporaryPostgres]:
    """With replication, not synchronous yet."""
    server = OwnPostgres(shared, {"wal_level": "replica", "max_wal_senders": "5"})
    with (server.data / "pg_hba.conf").open("a") as rules:
        rules.write(f"local replication {SUPERUSER} trust\n")
    with server:
        yield server


@contextmanager
def followed(server: TemporaryPostgres, *, is_synchronous: bool) -> Iterator[Standby]:
    with Standby(server) as standby:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            if is_synchronous:
                connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{NAME}'")
                connection.execute("SELECT pg_reload_conf()")
            wait_until(lambda: replication(connection) == ("streaming", "sync" if is_synchronous else "async"))
        yield standby


def replication(connection: psycopg.Connection[Any]) -> tuple[str, str] | None:
    row = connection.execute("SELECT state, sync_state FROM pg_stat_replication").fetchone()
    return (row[0], row[1]) if row else None


def sender(server: TemporaryPostgres) -> int:
    """The process of the primary that sends to the standby."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        row = connection.execute("SELECT pid FROM pg_stat_replication").fetchone()
    assert row
    return int(row[0])


def wait_for_replay(server: TemporaryPostgres, standby: Standby) -> None:
    """Until the standby has all that the primary has by now."""
    with (
        psycopg.connect(server.dsn(), autocommit=True) as one,
        psycopg.connect(standby.dsn(), autocommit=True) as other,
    ):
        row = one.execute("SELECT pg_current_wal_lsn()::text").fetchone()
        assert row
        wait_until(lambda: other.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", row).fetchone() == (True,))
