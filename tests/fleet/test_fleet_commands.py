"""`toolguard fleet ...` as a user runs it, on a real database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cli_stage import toolguard
from psycopg import conninfo

from fleet_database import OWNER, PASSWORD, FleetDatabase
from toolguard_cli.system import extras
from toolguard_engine.stores.fleet import fleet_identity
from toolguard_fleet import connection_options
from toolguard_fleet.fleet_errors import FleetError


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gateway's state directory; passwords are in a password file, as users are asked to keep them."""
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "openclaw.json").write_text('{"plugins": {"entries": {"toolguard": {"config": {}}}}}')
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"*:*:*:*:{PASSWORD}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    return folder


def fleet(state: Path, *words: str, code: int = 0) -> dict[str, Any]:
    """The JSON of `toolguard fleet WORDS`."""
    done = toolguard("fleet", *words, "--state-dir", state, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def without_password(dsn: str) -> str:
    return conninfo.make_conninfo("", **{n: v for n, v in conninfo.conninfo_to_dict(dsn).items() if n != "password"})


def test_a_fleet_is_set_up_in_five_commands(database: FleetDatabase, state: Path) -> None:
    owner = without_password(database.empty())
    made = fleet(state, "init", "--dsn", owner)["data"]
    assert made["created"] is True
    gateways = conninfo.make_conninfo(owner, user="toolguard_gateway")
    with psycopg.connect(gateways, password=made["gatewayPassword"]):
        pass
    database.superuser().execute(f"ALTER ROLE toolguard_gateway PASSWORD '{PASSWORD}'".encode())
    assert fleet(state, "init", "--dsn", owner)["data"]["created"] is False
    login = f"anna_{database.name}"
    words = ("approvers", "add", "anna", "--login", login, "--team", "ops", "--create-login", "--role", "admin")
    added = fleet(state, *words, "--dsn", owner)["data"]
    database._logins.append(login)
    joined = fleet(state, "join", "--dsn", gateways, "--team", "ops")["data"]
    assert joined["state"] == "new"
    identity = fleet_identity.load(state)
    assert identity.id == joined["gateway"]
    assert fleet_identity.path(state).stat().st_mode & 0o777 == 0o600
    config = json.loads((state / "openclaw.json").read_text())["plugins"]["entries"]["toolguard"]["config"]
    assert config["fleet"] == {"dsn": gateways, "team": "ops", "enabled": True}

    person = conninfo.make_conninfo(owner, user=login, password=added["password"])
    (listed,) = fleet(state, "gateways", "--dsn", person)["data"]["gateways"]
    assert (listed["state"], listed["fingerprint"]) == ("new", joined["fingerprint"])
    assert fleet(state, "admit", joined["gateway"], "--dsn", person)["data"]["gateway"]["state"] == "admitted"
    assert fleet(state, "join", "--dsn", gateways, "--team", "ops")["data"]["state"] == "admitted"


def test_the_lists_say_what_is_there(database: FleetDatabase, state: Path) -> None:
    gateway = database.gateway()
    database.person("anna", "approver", ("ops", "sales"))
    owner = database.dsn(OWNER)
    shown = toolguard("fleet", "gateways", "--dsn", owner, "--state-dir", state).stdout
    assert gateway.id in shown
    assert "admitted" in shown
    shown = toolguard("fleet", "approvers", "--dsn", owner, "--state-dir", state).stdout
    assert "ops, sales" in shown
    fleet(state, "approvers", "revoke", "anna", "--dsn", owner)
    (listed,) = fleet(state, "approvers", "list", "--dsn", owner)["data"]["approvers"]
    assert listed["revokedAt"]
    assert fleet(state, "revoke", gateway.id, "--dsn", owner)["data"]["gateway"]["state"] == "revoked"


def test_maintain_keeps_and_drops_partitions(database: FleetDatabase, state: Path) -> None:
    owner = database.owner()
    owner.execute("CREATE TABLE fleet.held_closed_20200101 PARTITION OF fleet.held_closed"
                  " FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')")  # fmt: skip
    done = fleet(state, "maintain", "--keep", "held_closed=30", "--dsn", database.dsn(OWNER))["data"]
    assert done["dropped"] == ["held_closed_20200101"]
    assert len(done["created"]) >= 2 * 29
    assert fleet(state, "maintain", "--dsn", database.dsn(OWNER))["data"]["created"] == []
    assert owner.execute("SELECT keep_days FROM fleet.retention WHERE table_name = 'held_closed'").fetchone() == (30,)


def test_a_gateway_without_toolguard_does_not_join(database: FleetDatabase, state: Path) -> None:
    (state / "openclaw.json").write_text("{}")
    dsn = without_password(database.dsn("toolguard_gateway"))
    assert "install" in error(state, "join", "--dsn", dsn, "--team", "ops")
    assert fleet(state, "gateways", "--dsn", database.dsn(OWNER))["data"]["gateways"] == []
    assert not fleet_identity.path(state).exists()


def test_a_gateway_leaves(database: FleetDatabase, state: Path) -> None:
    dsn = without_password(database.dsn("toolguard_gateway"))
    joined = fleet(state, "join", "--dsn", dsn, "--team", "ops")["data"]
    fleet(state, "leave")
    assert not fleet_identity.path(state).exists()
    (listed,) = fleet(state, "gateways", "--dsn", database.dsn(OWNER))["data"]["gateways"]
    assert (listed["id"], listed["state"]) == (joined["gateway"], "left")


def test_a_revoked_gateway_joins_with_a_new_identity_only(database: FleetDatabase, state: Path) -> None:
    words = ("join", "--dsn", without_password(database.dsn("toolguard_gateway")), "--team", "ops")
    first = fleet(state, *words)["data"]["gateway"]
    database.owner().execute("SELECT fleet.revoke_gateway(%s)", (first,))
    assert "--new-identity" in str(fleet(state, *words, code=1))
    assert fleet(state, *words, "--new-identity")["data"]["gateway"] != first


def test_a_join_that_fails_keeps_the_identity(database: FleetDatabase, state: Path) -> None:
    dsn = without_password(database.dsn("toolguard_gateway"))
    fleet(state, "join", "--dsn", dsn, "--team", "ops")
    before = fleet_identity.load(state)
    fleet(state, "join", "--new-identity", "--dsn", dsn, "--team", "Ops Team!", code=1)
    assert fleet_identity.load(state) == before


def test_a_gateway_does_not_join_as_the_owner(database: FleetDatabase, state: Path) -> None:
    done = error(state, "join", "--dsn", without_password(database.dsn(OWNER)), "--team", "ops")
    assert "user=toolguard_gateway" in done
    config = state / "openclaw.json"
    assert not config.exists() or "fleet" not in config.read_text()


def error(state: Path, *words: str) -> str:
    done = toolguard("fleet", *words, "--state-dir", state)
    assert done.returncode == 1
    _, *more = done.stderr.splitlines()
    assert len(more) <= 1, "one line, and what to do"
    assert PASSWORD not in done.stdout + done.stderr
    return done.stderr


def test_errors_are_one_line(database: FleetDatabase, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = database.dsn(OWNER)
    assert "cannot be used" in error(state, "gateways", "--dsn", "host=127.0.0.1 port=1 dbname=fleet")
    assert "cannot be used" in error(state, "gateways", "--dsn", conninfo.make_conninfo(owner, password="another"))
    assert "toolguard fleet init" in error(state, "gateways", "--dsn", database.empty())
    assert "sslmode=verify-full" in error(state, "gateways", "--dsn", "host=db.example sslmode=prefer")
    assert "not a connection string" in error(state, "gateways", "--dsn", "what is this")
    assert "no fleet database was specified" in error(state, "gateways")
    assert "no such gateway" in error(state, "admit", "gw-0123456789abcdef", "--dsn", owner)
    assert "there is no login" in error(state, "approvers", "add", "x", "--team", "ops", "--dsn", owner)
    assert "a team is" in error(state, "approvers", "add", OWNER, "--team", "Ops!", "--dsn", owner)
    assert "no such person" in error(state, "approvers", "revoke", "x", "--dsn", owner)
    assert "password" in error(state, "join", "--dsn", database.dsn("toolguard_gateway"), "--team", "ops")
    viewer = f"vera_{database.name}"
    database.person("vera", "viewer")
    assert "only an admin may do that; you are vera, viewer of ops" in error(
        state, "admit", "gw-0123456789abcdef", "--dsn", database.dsn(viewer)
    )
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert "openclaw-toolguard[fleet]" in error(state, "gateways", "--dsn", owner)


@pytest.mark.parametrize("number", [9_999, 1])
def test_another_version_of_the_schema(database: FleetDatabase, state: Path, number: int) -> None:
    owner = database.owner()
    if number == 1:
        owner.execute("DELETE FROM fleet.migration WHERE number > 1")
    else:
        owner.execute("INSERT INTO fleet.migration VALUES (9999, '9999_next', 'x', 9999)")
    expected = "toolguard fleet migrate" if number == 1 else "upgrade toolguard here"
    assert expected in error(state, "gateways", "--dsn", database.dsn(OWNER))


REMOTE = (
    "host=db.example",
    "host=10.0.0.1",
    "host=localhost,db.example",
    "hostaddr=10.0.0.1",
    "host=localhost hostaddr=10.0.0.1",
    "service=fleet",
    "postgresql://db.example/fleet",
)


@pytest.mark.parametrize("dsn", REMOTE)
def test_another_machine_is_verified(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = connection_options.options(dsn)
    assert (found["sslmode"], found["gssencmode"]) == ("verify-full", "disable")
    for mode in ("disable", "prefer", "require", "verify-ca"):
        with pytest.raises(FleetError, match="verify-full"):
            connection_options.options(conninfo.make_conninfo(dsn, sslmode=mode))


@pytest.mark.parametrize("dsn", ["", "host=localhost", "host=/run/postgresql", "host=127.0.0.2,::1", "postgresql:///fleet"])
def test_this_machine_needs_no_certificate(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "sslmode" not in connection_options.options(dsn)
    monkeypatch.setenv("PGHOST", "db.example")
    if "host" not in dsn:
        assert connection_options.options(dsn)["sslmode"] == "verify-full"


def test_events_are_shown_to_those_whom_they_concern(database: FleetDatabase, state: Path) -> None:
    ops, web = database.gateway("ops"), database.gateway("web")
    database.person("anna", "approver", ("ops",))
    database.person("root", "admin", ("ops",))
    shown = {
        name: [
            (each["kind"], each["gateway"])
            for each in fleet(state, "events", "--dsn", database.dsn(login))["data"]["events"]
        ]
        for name, login in (("owner", OWNER), ("anna", f"anna_{database.name}"), ("root", f"root_{database.name}"))
    }
    assert shown["anna"] == [("admit", ops.id), ("join", ops.id)]
    assert {kind for kind, _ in shown["root"]} == {"admit", "join", "approver"}
    assert ("admit", web.id) not in shown["root"]
    assert shown["owner"][-2:] == [("admit", ops.id), ("join", ops.id)]
    (admitted,) = fleet(state, "events", "--kind", "admit", "--team", "web", "--dsn", database.dsn(OWNER))["data"]["events"]
    assert (admitted["gateway"], admitted["who"]) == (web.id, OWNER)
    text = toolguard("fleet", "events", "--last", "1", "--since", "1h", "--dsn", database.dsn(OWNER), "--state-dir", state)
    assert "approver" in text.stdout
    assert web.id not in text.stdout


def test_maintain_sets_quotas(database: FleetDatabase, state: Path) -> None:
    gateway, owner = database.gateway().id, database.dsn(OWNER)
    fleet(state, "maintain", "--quota", "200", "--quota", f"{gateway}=2000", "--dsn", owner)
    (latest, *_) = fleet(state, "events", "--kind", "quota", "--dsn", owner)["data"]["events"]
    assert (latest["gateway"], latest["detail"]) == (gateway, "2000 MB a day")
    assert toolguard("fleet", "maintain", "--quota", "much", "--dsn", owner, "--state-dir", state).returncode == 2
    unknown = toolguard("fleet", "maintain", "--quota", "nobody=5", "--dsn", owner, "--state-dir", state)
    assert (unknown.returncode, "nobody" in unknown.stderr) == (1, True)


def test_maintain_says_that_a_restored_database_is_open(database: FleetDatabase, state: Path) -> None:
    owner = database.dsn(OWNER)
    assert fleet(state, "maintain", "--dsn", owner)["data"]["open"] is False
    database.superuser().execute(f"GRANT CONNECT, TEMPORARY ON DATABASE {database.name} TO PUBLIC".encode())
    done = toolguard("fleet", "maintain", "--dsn", owner, "--state-dir", state)
    assert "toolguard fleet migrate" in done.stdout
    fleet(state, "migrate", "--dsn", owner)
    assert fleet(state, "maintain", "--dsn", owner)["data"]["open"] is False
    (latest, *_) = fleet(state, "events", "--kind", "maintain", "--dsn", owner)["data"]["events"]
    assert latest["who"] == OWNER


OLDER = """
CREATE SCHEMA fleet_test;
CREATE VIEW fleet_test.pg_stat_activity AS
    SELECT pid, usename, datname, xact_start - interval '1 hour' AS xact_start FROM pg_catalog.pg_stat_activity;
ALTER FUNCTION fleet.maintain SET search_path = fleet_test, pg_catalog, fleet, pg_temp
"""
"""Every transaction that `maintain` sees is an hour older than it is."""


def test_maintain_ends_old_transactions_of_a_team_login(database: FleetDatabase, state: Path) -> None:
    login = database.login("team")
    database.superuser().execute(f"GRANT toolguard_gateway TO {login}; GRANT {login} TO {OWNER}".encode())
    database.owner().execute(OLDER)
    held = database.connect(login)
    held.execute("BEGIN")
    fleet(state, "maintain", "--dsn", database.dsn(OWNER))
    with pytest.raises(psycopg.OperationalError):
        held.execute("SELECT 1")


def test_maintain_names_a_login_whose_sessions_it_may_not_end(database: FleetDatabase, state: Path) -> None:
    login = database.login("team")
    database.superuser().execute(f"GRANT toolguard_gateway TO {login}".encode())
    database.owner().execute(OLDER)
    held = database.connect(login)
    held.execute("BEGIN")
    assert fleet(state, "maintain", "--dsn", database.dsn(OWNER))["data"]["spared"] == [login]
    held.execute("SELECT 1")
