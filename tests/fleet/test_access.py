"""What each login of the database can not do, whatever it sends."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import psycopg
import pytest
from psycopg import sql

from effort import some
from fleet_database import PASSWORD, Connection, FleetDatabase
from held_calls_at_database import Caller, cause, decide, revive
from tables import each_row
from toolguard_fleet import schema

TABLES = (
    "gateway",
    "contact",
    "approver",
    "team_state",
    "event",
    "held",
    "held_closed",
    "decision",
    "migration",
    "retention",
)
FOR_PERSONS = (
    "SELECT fleet.waiting()",
    "SELECT fleet.closed(24)",
    "SELECT fleet.decide('gw-0000000000000000', 'aaaaaaaaaaaa', 'approved', '', '', '')",
    "SELECT fleet.revive('gw-0000000000000000', 'aaaaaaaaaaaa', '')",
    "SELECT fleet.gateways()",
    "SELECT fleet.approvers()",
    "SELECT fleet.whoami()",
)
FOR_ADMINS = (
    "SELECT fleet.admit('gw-0000000000000000')",
    "SELECT fleet.revoke_gateway('gw-0000000000000000')",
    "SELECT fleet.add_approver('eve', 'eve', 'admin', '{*}')",
    "SELECT fleet.revoke_approver('anna')",
    "SELECT fleet.set_retention('decision', 2)",
    "SELECT fleet.maintain()",
)
INTERNAL = (
    "SELECT fleet.maintain_partitions()",
    "SELECT fleet.sweep('gw-0000000000000000')",
    "SELECT fleet.gateway_of('gw-0000000000000000', '')",
    "SELECT fleet.person()",
    "SELECT fleet.closed_of('gw-0000000000000000', 'aaaaaaaaaaaa')",
    "SELECT fleet.decisions_on('gw-0000000000000000', 'aaaaaaaaaaaa', now())",
)


def refusal(connection: Connection, statement: str, values: Any = None) -> str | None:
    """The SQLSTATE of the error that this must raise."""
    with pytest.raises(psycopg.Error) as error:
        connection.execute(statement.encode(), values)
    return error.value.diag.sqlstate


@pytest.mark.parametrize("statement", some([*FOR_PERSONS, *FOR_ADMINS, *INTERNAL]))
def test_a_gateway_calls_only_what_is_for_gateways(gateway_login: Connection, statement: str) -> None:
    assert refusal(gateway_login, statement) == "42501"


def test_persons_call_neither_the_functions_of_gateways_nor_internal_ones(
    database: FleetDatabase, person: Callable[..., Connection]
) -> None:
    anna, gateway = person("anna"), database.gateway()
    for statement in (*FOR_ADMINS, *INTERNAL):
        assert refusal(anna, statement) == "42501"
    assert refusal(anna, "SELECT fleet.sync(%s, %s, '{}', '')", (gateway.id, gateway.token)) == "42501"


@pytest.mark.parametrize("kind", ["gateway", "viewer", "approver", "admin"])
def test_nobody_reads_or_writes_a_table(database: FleetDatabase, kind: str) -> None:
    connection = database.gateway_login() if kind == "gateway" else database.person("anna", kind)
    for table in TABLES:
        for statement in ("SELECT FROM fleet.{}", "DELETE FROM fleet.{}", "TRUNCATE fleet.{}"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(sql.SQL(statement).format(sql.Identifier(table)))


@pytest.mark.parametrize("kind", ["gateway", "admin"])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE public.t ()",
        "CREATE TABLE fleet.t ()",
        "CREATE TEMPORARY TABLE held ()",
        "CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT $1'",
        "CREATE SCHEMA mine",
        "CREATE ROLE another LOGIN",
        "ALTER ROLE toolguard_admin LOGIN",
        "GRANT toolguard_admin TO toolguard_gateway",
        "SET ROLE fleet_owner",
        "SET ROLE toolguard_admin_or_not",
        "SET SESSION AUTHORIZATION fleet_owner",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "CREATE EXTENSION dblink",
    ],
)
def test_nobody_creates_or_becomes_anything(database: FleetDatabase, kind: str, statement: str) -> None:
    connection = database.gateway_login() if kind == "gateway" else database.person("anna", "admin")
    assert refusal(connection, statement) in ("42501", "22023")


def test_temporary_objects_would_shadow_nothing(database: FleetDatabase) -> None:
    """Also where an administrator gave back the right to create them."""
    database.superuser().execute(f"GRANT TEMPORARY ON DATABASE {database.name} TO PUBLIC".encode())
    caller = Caller(database.gateway_login(), database.gateway())
    for statement in (
        "CREATE TEMPORARY TABLE held (gateway text, nonce text)",
        "CREATE TEMPORARY TABLE gateway (id text, team text, token_hash bytea, state text)",
        "CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT ''x''::bytea'",
        "CREATE FUNCTION pg_temp.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT ''epoch''::timestamptz'",
        "SET search_path = pg_temp, pg_catalog, fleet",
    ):
        caller.connection.execute(statement.encode())
    caller.gateway.token = secrets.token_bytes(32)
    with pytest.raises(psycopg.Error) as error:
        caller.present()
    assert cause(error.value)[0] == "TG001"


def test_a_gateway_needs_its_token(database: FleetDatabase) -> None:
    ours, other = database.gateway(), database.gateway()
    caller = Caller(database.gateway_login(), ours)
    nonce = caller.present()["nonce"]
    for token in (other.token, b"", None, sha256(ours.token).digest(), bytes(32)):
        thief = Caller(caller.connection, database.gateway())
        thief.gateway.id, thief.gateway.token = ours.id, token  # type: ignore[assignment]
        for ask in (thief.present, thief.entries, thief.sync, lambda t=thief: t.close(nonce, "denied")):
            with pytest.raises(psycopg.Error) as error:
                ask()
            assert cause(error.value)[0] == "TG001"
    assert caller.entries()["open"][0]["nonce"] == nonce


def test_a_gateway_sees_and_closes_only_its_own_calls(database: FleetDatabase) -> None:
    connection = database.gateway_login()
    ours, other = Caller(connection, database.gateway()), Caller(connection, database.gateway())
    nonce = ours.present()["nonce"]
    assert other.entries()["open"] == []
    assert other.close(nonce, "denied") is None
    assert other.give_back(nonce, bytes(16)) is None
    assert other.sync([nonce])["decided"] == []
    assert ours.present()["outcome"] == "pending"


def test_a_gateway_that_is_not_admitted_or_was_revoked_gets_nothing(database: FleetDatabase, owner: Connection) -> None:
    connection, token, gateway = database.gateway_login(), secrets.token_bytes(32), f"gw-{secrets.token_hex(8)}"
    join = "SELECT fleet.join(%s, sha256(%s), 'ops', 'host', '1')"
    assert connection.execute(join, (gateway, token)).fetchone() == ("new",)
    assert refusal(connection, "SELECT fleet.sync(%s, %s, '{}', '')", (gateway, token)) == "TG002"
    owner.execute("SELECT fleet.admit(%s)", (gateway,))
    assert connection.execute(join, (gateway, token)).fetchone() == ("admitted",)
    connection.execute("SELECT fleet.sync(%s, %s, '{}', '')", (gateway, token))
    assert refusal(connection, join, (gateway, b"another token")) == "TG001", "an id cannot be taken over"
    owner.execute("SELECT fleet.revoke_gateway(%s)", (gateway,))
    assert refusal(connection, "SELECT fleet.sync(%s, %s, '{}', '')", (gateway, token)) == "TG003"
    assert refusal(owner, "SELECT fleet.admit(%s)", (gateway,)) == "TG003"


def test_a_gateway_that_left_gets_nothing(database: FleetDatabase) -> None:
    caller = Caller(database.gateway_login(), database.gateway())
    caller.connection.execute("SELECT fleet.leave(%s, %s)", (caller.gateway.id, caller.gateway.token))
    with pytest.raises(psycopg.Error) as error:
        caller.sync()
    assert cause(error.value)[0] == "TG003"


def test_a_joined_gateway_does_not_change_its_team(database: FleetDatabase, owner: Connection) -> None:
    gateway = database.gateway("ops")
    database.gateway_login().execute("SELECT fleet.join(%s, sha256(%s), 'sales', 'h', '1')", (gateway.id, gateway.token))
    assert owner.execute("SELECT team FROM fleet.gateway WHERE id = %s", (gateway.id,)).fetchone() == ("ops",)


def test_a_gateway_that_keeps_a_transaction_open_does_not_stop_others(database: FleetDatabase) -> None:
    """Its locks are on rows of its own: others are held, decided, and it is revoked."""
    hostile = Caller(database.gateway_login(), database.gateway())
    for setting in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
        hostile.connection.execute(f"SET {setting} = 0".encode())
    hostile.connection.execute("BEGIN")
    hostile.present()
    hostile.sync()
    hostile.connection.execute("SELECT pg_advisory_lock(n) FROM generate_series(1, 100) AS n")
    other, anna = Caller(database.gateway_login(), database.gateway()), database.person("anna")
    nonce = other.present()["nonce"]
    assert decide(anna, other.gateway, nonce)["status"] == "approved"
    assert other.present()["outcome"] == "used"
    assert len(anna.execute("SELECT fleet.waiting()").fetchall()) == 0
    admin = database.person("adam", "admin", ("*",))
    admin.execute("SELECT fleet.revoke_gateway(%s)", (hostile.gateway.id,))
    other.sync()


def test_sessions_of_the_same_login_do_not_see_tokens(database: FleetDatabase) -> None:
    caller, spy = Caller(database.gateway_login(), database.gateway()), database.gateway_login()
    caller.connection.execute("BEGIN")
    caller.sync()
    ((shown,),) = spy.execute("SELECT query FROM pg_stat_activity WHERE state = 'idle in transaction'").fetchall()
    assert "fleet.sync" in shown
    assert caller.gateway.token.hex() not in shown
    assert caller.gateway.id not in shown


def test_migrating_restores_the_settings_of_the_gateways_login(database: FleetDatabase) -> None:
    database.gateway_login().execute("ALTER ROLE toolguard_gateway SET default_transaction_read_only = on")
    schema.migrate(database.owner(), days_ahead=1)
    assert database.gateway_login().execute("SHOW default_transaction_read_only").fetchone() == ("off",)


def test_the_gateways_login_is_bounded_by_default(database: FleetDatabase) -> None:
    row = database.gateway_login().execute(
        "SELECT current_setting('statement_timeout'), current_setting('lock_timeout'),"
        " current_setting('idle_in_transaction_session_timeout'),"
        " (SELECT rolconnlimit FROM pg_roles WHERE rolname = session_user)"
    )
    assert row.fetchone() == ("5s", "1s", "5s", 160)


def test_a_login_of_a_team_is_bounded_like_that_of_all_gateways(database: FleetDatabase) -> None:
    own, foreign = f"gateway_ops_{database.name}", database.login("foreign")
    owner = database.owner()
    owner.execute(f"CREATE ROLE {own} LOGIN IN ROLE toolguard_gateway".encode())
    database.superuser().execute(f"GRANT toolguard_gateway TO {foreign}".encode())
    try:
        noted: dict[str, bool] = {}
        schema.migrate(owner, days_ahead=1, note=noted.__setitem__)
        assert noted[own]
        config = owner.execute("SELECT rolconfig FROM pg_roles WHERE rolname = %s", (foreign,)).fetchone()
        assert noted[foreign] == (config != (None,)), "whether it is out of reach depends on the server's version"
        found = owner.execute("SELECT rolconfig, rolconnlimit FROM pg_roles WHERE rolname = %s", (own,)).fetchone()
        assert found == (
            ["statement_timeout=5s", "lock_timeout=1s", "idle_in_transaction_session_timeout=5s"],
            160,
        )
        owner.execute(f"ALTER ROLE {own} CONNECTION LIMIT 7".encode())
        schema.migrate(owner, days_ahead=1)
        query = "SELECT rolconnlimit FROM pg_roles WHERE rolname = %s"
        assert owner.execute(query, (own,)).fetchone() == (7,), "a limit that was chosen stays"
        query = "SELECT rolconfig FROM pg_roles WHERE rolname = current_user"
        assert owner.execute(query).fetchone() == (None,), "the owner is a member and no gateway"
    finally:
        owner.execute(f"DROP ROLE {own}".encode())


def test_a_login_that_the_owner_may_not_change_is_noted(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign, limit = database.login("foreign"), schema._limit
    database.superuser().execute(f"GRANT toolguard_gateway TO {foreign}".encode())

    def out_of_reach(connection: Connection, login: str, most: int | None = None) -> None:
        if login == foreign:
            raise psycopg.errors.InsufficientPrivilege
        limit(connection, login, most)

    monkeypatch.setattr(schema, "_limit", out_of_reach)
    noted: dict[str, bool] = {}
    schema.migrate(database.owner(), days_ahead=1, note=noted.__setitem__)
    assert noted[foreign] is False


def test_a_viewer_sees_and_does_not_decide(database: FleetDatabase) -> None:
    caller, viewer = Caller(database.gateway_login(), database.gateway()), database.person("vera", "viewer")
    nonce = caller.present()["nonce"]
    assert len(viewer.execute("SELECT fleet.waiting()").fetchall()) == 1
    for act in (lambda: decide(viewer, caller.gateway, nonce), lambda: revive(viewer, caller.gateway, nonce)):
        with pytest.raises(psycopg.Error) as error:
            act()
        assert cause(error.value)[0] == "TG010"


def test_calls_of_other_teams_are_unknown(database: FleetDatabase) -> None:
    caller = Caller(database.gateway_login(), database.gateway("ops"))
    stranger = database.person("stan", "approver", ("sales",))
    nonce = caller.present()["nonce"]
    assert stranger.execute("SELECT fleet.waiting()").fetchall() == []
    assert stranger.execute("SELECT fleet.gateways()").fetchall() == []
    for act in (
        lambda: decide(stranger, caller.gateway, nonce),
        lambda: decide(stranger, caller.gateway, nonce, "denied"),
        lambda: revive(stranger, caller.gateway, nonce),
    ):
        with pytest.raises(psycopg.Error) as error:
            act()
        assert cause(error.value) == ("TG012", "unknown")
    caller.close(nonce, "denied")
    assert stranger.execute("SELECT fleet.closed(24)").fetchall() == []
    with pytest.raises(psycopg.Error) as error:
        decide(stranger, caller.gateway, nonce)
    assert cause(error.value) == ("TG012", "unknown")


def test_who_was_revoked_can_do_nothing_in_an_open_session(database: FleetDatabase, owner: Connection) -> None:
    caller, anna = Caller(database.gateway_login(), database.gateway()), database.person("anna")
    nonce = caller.present()["nonce"]
    owner.execute("SELECT fleet.revoke_approver('anna')")
    for statement in (
        "SELECT fleet.waiting()",
        "SELECT fleet.closed(1)",
        "SELECT fleet.gateways()",
        "SELECT fleet.whoami()",
    ):
        assert refusal(anna, statement) in ("42501", "TG010")
    with pytest.raises(psycopg.Error) as error:
        decide(anna, caller.gateway, nonce)
    assert cause(error.value)[0] in ("42501", "TG010")


def test_an_admin_of_a_team_stays_in_it(database: FleetDatabase) -> None:
    adam = database.person("adam", "admin", ("ops",))
    other = database.gateway("sales")
    login = database.login("eve")
    assert refusal(adam, "SELECT fleet.revoke_gateway(%s)", (other.id,)) == "TG011"
    for teams in ("{sales}", "{*}", "{ops,sales}"):
        assert refusal(adam, "SELECT fleet.add_approver('eve', %s, 'approver', %s)", (login, teams)) == "TG011"
    adam.execute("SELECT fleet.add_approver('eve', %s, 'approver', '{ops}')", (login,))
    database.person("paul", "admin", ("*",))
    assert refusal(adam, "SELECT fleet.revoke_approver('paul')") == "TG011"
    assert refusal(adam, "SELECT fleet.add_approver('paul', %s, 'viewer', '{ops}')", (f"paul_{database.name}",)) == "TG011"
    assert refusal(adam, "SELECT fleet.set_retention('decision', 2)") == "TG011"


@pytest.mark.parametrize(
    "login", ["toolguard_gateway", "toolguard_admin", "toolguard_approver", "pg_monitor", "nobody_there"]
)
def test_no_other_login_becomes_a_person(owner: Connection, login: str) -> None:
    assert refusal(owner, "SELECT fleet.add_approver('eve', %s, 'approver', '{ops}')", (login,)) in ("22023", "TG010")


def test_a_login_that_inherits_from_the_gateways_is_no_person(database: FleetDatabase, owner: Connection) -> None:
    login = database.login("half")
    database.superuser().execute(f"GRANT toolguard_gateway TO {login}".encode())
    assert refusal(owner, "SELECT fleet.add_approver('eve', %s, 'approver', '{ops}')", (login,)) == "22023"


def test_a_demoted_admin_is_one_no_more(database: FleetDatabase, owner: Connection) -> None:
    adam = database.person("adam", "admin", ("ops",))
    owner.execute("SELECT fleet.add_approver('adam', %s, 'viewer', '{ops}')", (f"adam_{database.name}",))
    assert refusal(adam, "SELECT fleet.maintain()") in ("42501", "TG010")


def test_a_created_login_has_no_other_right(database: FleetDatabase, owner: Connection) -> None:
    login = f"new_{database.name}"
    verifier = owner.pgconn.encrypt_password(PASSWORD.encode(), login.encode(), b"scram-sha-256").decode()
    owner.execute("SELECT fleet.add_approver('new', %s, 'approver', '{ops}', %s)", (login, verifier))
    database._logins.append(login)
    assert database.connect(login).execute("SELECT fleet.waiting()").fetchall() == []
    row = owner.execute(
        "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolconnlimit FROM pg_roles"
        " WHERE rolname = %s", (login,),
    )  # fmt: skip
    assert row.fetchone() == (False, False, False, False, False, 20)
    add = "SELECT fleet.add_approver('x', %s, 'approver', '{ops}', %s)"
    assert refusal(owner, add, (login, verifier)) == "22023", "its password cannot be replaced so"
    assert refusal(owner, add, ("postgres", verifier)) == "22023"
    assert refusal(owner, add, ("y", "md5abc")) == "22023"


INJECTIONS = (
    "'; DROP TABLE fleet.held; --",
    '"; DROP TABLE fleet.held; --',
    "$$; DROP TABLE fleet.held; $$",
    "%s %I %L %(x)s",
    "a' || pg_sleep(10) || '",
    "\\'; SELECT 1; --",
    "{}\n\r\t\x1b[31m",
    "\U0001d54f\u202e",
)


@pytest.mark.parametrize("text", INJECTIONS)
def test_texts_are_values_and_never_statements(database: FleetDatabase, owner: Connection, text: str) -> None:
    caller, anna = Caller(database.gateway_login(), database.gateway()), database.person("anna")
    held = caller.present(text, session=text, requester=text, entry=text.encode())
    assert (held["binding"], held["session"], held["requester"]) == (text, text, text)
    assert decide(anna, caller.gateway, held["nonce"], "denied", text)["why"] == text
    second = caller.present("second")["nonce"]
    assert caller.close(second, "denied", text, text[:64], text)["why"] == text
    connection = caller.connection
    for name in ("attempt", "nonce", "digest"):
        with pytest.raises(psycopg.Error) as error:
            caller.present(**{name: text if name == "nonce" else text.encode() * 3})
        assert cause(error.value)[0] == "22023"
    join = "SELECT fleet.join(%s, %s, %s, %s, %s)"
    assert refusal(connection, join, (text, bytes(32), "ops", "h", "1")) == "22023"
    assert refusal(connection, join, ("gw-0123456789abcdef", bytes(32), text, "h", "1")) == "22023"
    assert connection.execute(join, (f"gw-{secrets.token_hex(8)}", bytes(32), "ops", text, text[:30])).fetchone()
    for values in ((text, "l", "approver", "ops"), ("p", text, "approver", "ops"), ("p", "l", text, "ops"),
                   ("p", "l", "approver", text)):  # fmt: skip
        state = refusal(owner, "SELECT fleet.add_approver(%s, %s, %s, ARRAY[%s])", values)
        assert state == "22023"
    assert refusal(owner, "SELECT fleet.set_retention(%s, 30)", (text,)) == "22023"
    assert refusal(owner, "SELECT fleet.admit(%s)", (text,)) == "TG001"
    assert owner.execute("SELECT count(*) FROM fleet.held").fetchone() == (0,)


@each_row(
    "changed",
    [
        {"entry": bytes(262_145)}, {"entry": b""}, {"attempt": bytes(15)}, {"digest": bytes(33)}, {"nonce": "a" * 33},
        {"nonce": "A" * 12}, {"nonce": ""}, {"binding": "b" * 129}, {"binding": ""}, {"session": "s" * 1_025},
        {"requester": "r" * 257}, {"wait": 0.0}, {"wait": -1.0}, {"wait": float("nan")}, {"wait": float("inf")},
        {"wait": None}, {"window": float("nan")}, {"window": 1e9}, {"need": 0}, {"need": 11}, {"need": None},
        {"need_teams": ["a"] * 33}, {"need_teams": [None]}, {"need_teams": None}, {"need_teams": ["*"]}, {"entry": None},
        {"binding": None}, {"session": None}, {"requester": None}, {"attempt": None}, {"nonce": None}, {"digest": None},
    ],
    ids=lambda changed: str(changed)[:40],
)  # fmt: skip
def test_arguments_are_bounded(database: FleetDatabase, changed: dict[str, Any]) -> None:
    caller = Caller(database.gateway_login(), database.gateway())
    with pytest.raises(psycopg.Error) as error:
        caller.present(**changed)
    assert cause(error.value)[0] == "22023"


def test_the_largest_entry_is_taken(database: FleetDatabase) -> None:
    caller = Caller(database.gateway_login(), database.gateway())
    assert caller.present(entry=secrets.token_bytes(262_144))["outcome"] == "pending"


def test_sync_is_bounded(database: FleetDatabase) -> None:
    caller = Caller(database.gateway_login(), database.gateway())
    caller.sync(["a" * 12] * 1_000)
    with pytest.raises(psycopg.Error) as error:
        caller.sync(["a" * 12] * 1_001)
    assert cause(error.value)[0] == "22023"


def test_decisions_are_bounded(database: FleetDatabase) -> None:
    caller, anna = Caller(database.gateway_login(), database.gateway()), database.person("anna")
    nonce = caller.present(need=2)["nonce"]
    statement = "SELECT fleet.decide(%s, %s, %s, %s, %s, %s)"
    given = (caller.gateway.id, nonce)
    assert refusal(anna, statement, (*given, "approved", bytes(4_097), b"", "")) == "22023"
    assert refusal(anna, statement, (*given, "approved", b"", bytes(16_385), "")) == "22023"
    assert refusal(anna, statement, (*given, "approved", b"", b"", "w" * 1_001)) == "22023"
    assert refusal(anna, statement, (*given, "used", b"", b"", "")) == "22023"
    for _ in range(20):
        decide(anna, caller.gateway, nonce)
    assert refusal(anna, statement, (*given, "approved", b"", b"", "")) == "TG012"
    assert decide(database.person("bert"), caller.gateway, nonce)["status"] == "approved"


def test_new_gateways_are_bounded(database: FleetDatabase, owner: Connection) -> None:
    owner.execute(
        "INSERT INTO fleet.gateway (id, team, token_hash) SELECT 'gw-' || lpad(to_hex(n), 16, '0'), 'ops', '\\x00'"
        " FROM generate_series(1, 1000) AS n"
    )
    join = "SELECT fleet.join(%s, %s, 'ops', 'h', '1')"
    assert refusal(database.gateway_login(), join, ("gw-ffffffffffffffff", bytes(32))) == "TG020"
