"""The migrations: applied once, in order, and refused where they do not fit."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from fleet_database import OWNER, Connection, FleetDatabase
from toolguard_fleet import schema
from toolguard_fleet.fleet_errors import SchemaError


def test_migrations_are_applied_once(owner: Connection) -> None:
    assert schema.migrate(owner) == []
    rows = owner.execute("SELECT number, digest FROM fleet.migration ORDER BY number").fetchall()
    assert rows == [(migration.number, migration.digest) for migration in schema.migrations()]


def test_each_role_reads_the_version(database: FleetDatabase) -> None:
    for connection in (database.gateway_login(), database.person("anna", "viewer"), database.owner()):
        assert schema.check_version(connection).version == schema.latest()


def test_a_database_without_schema(database: FleetDatabase) -> None:
    with (
        psycopg.connect(database.server.dsn(), autocommit=True) as connection,
        pytest.raises(SchemaError, match="fleet init"),
    ):
        schema.check_version(connection)


def test_a_login_without_a_role_may_not_even_connect(database: FleetDatabase) -> None:
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        database.connect(database.login("stranger"))


def test_a_newer_database_names_what_to_do(owner: Connection) -> None:
    owner.execute("INSERT INTO fleet.migration VALUES (9999, '9999_next', 'x', 1)")
    with pytest.raises(SchemaError, match="newer than this toolguard"):
        schema.migrate(owner)
    assert schema.check_version(owner).version == 9999
    owner.execute("UPDATE fleet.migration SET oldest_client = 9999 WHERE number = 9999")
    with pytest.raises(SchemaError, match=r"has version 9999.*upgrade toolguard here"):
        schema.check_version(owner)


def test_an_older_database_names_what_to_do(owner: Connection) -> None:
    owner.execute("DELETE FROM fleet.migration WHERE number = (SELECT max(number) FROM fleet.migration)")
    with pytest.raises(SchemaError, match="toolguard fleet migrate"):
        schema.check_version(owner)


def test_a_changed_migration_is_refused(owner: Connection) -> None:
    owner.execute("UPDATE fleet.migration SET digest = 'other' WHERE number = 1")
    with pytest.raises(SchemaError, match="0001_registry in the database differs"):
        schema.migrate(owner)


@pytest.mark.thorough
def test_a_failed_migration_leaves_nothing(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = schema.SchemaMigration(9999, "9999_broken", "CREATE TABLE fleet.half (); SELECT nothing_there()", "x", 1)
    monkeypatch.setattr(schema, "migrations", lambda: (*_REAL, broken))
    owner = database.owner()
    with pytest.raises(psycopg.errors.UndefinedFunction):
        schema.migrate(owner)
    assert owner.execute("SELECT to_regclass('fleet.half')").fetchone() == (None,)
    monkeypatch.setattr(schema, "migrations", lambda: _REAL)
    assert schema.migrate(owner) == []


_REAL = schema.migrations()


@pytest.mark.thorough
def test_two_that_migrate_at_once_share_the_work(database: FleetDatabase) -> None:
    database.superuser().execute("DROP SCHEMA fleet CASCADE")

    def migrate(_: int) -> list[str]:
        with psycopg.connect(database.dsn(OWNER), autocommit=True) as connection:
            return schema.migrate(connection)

    with ThreadPoolExecutor(4) as pool:
        done = [name for names in pool.map(migrate, range(4)) for name in names]
    assert sorted(done) == [migration.name for migration in schema.migrations()]


def test_every_function_has_a_fixed_search_path_and_no_public_right(owner: Connection) -> None:
    rows = owner.execute(
        "SELECT p.proname, p.proconfig, has_function_privilege('public', p.oid, 'EXECUTE')"
        " FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'fleet'"
    ).fetchall()
    assert len(rows) > 10
    for name, settings, public in rows:
        assert "search_path=pg_catalog, fleet, pg_temp" in (settings or []), name
        assert not public, name


def test_nobody_but_the_owner_has_a_right_on_a_table(owner: Connection) -> None:
    rows = owner.execute(
        "SELECT c.relname, c.relacl::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'fleet' AND c.relkind IN ('r', 'p', 'S', 'v')"
    ).fetchall()
    assert len(rows) > 5
    assert [row for row in rows if row[1] and re.search(r"(?<![\w])(?!fleet_owner=)\w*=\w+/", row[1])] == []
