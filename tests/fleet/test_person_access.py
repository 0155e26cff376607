"""A person's session in Python: typed rows, refusals of the ledger, and errors in one line."""

from __future__ import annotations

import psycopg
import pytest

from fleet_database import OWNER, FleetDatabase
from held_calls_at_database import Caller
from toolguard_engine.approvals.ledger import RefusedError
from toolguard_fleet import blocking_connection
from toolguard_fleet.fleet_errors import FleetError, SchemaError, UnreachableError
from toolguard_fleet.person_access import open_session


def test_a_held_call_from_waiting_to_closed(database: FleetDatabase) -> None:
    caller = Caller(database.gateway_login(), database.gateway())
    database.person("anna")
    nonce = caller.present(entry=b'{"tool": "exec"}', requester="bert")["nonce"]
    with open_session(database.dsn(f"anna_{database.name}")) as session:
        assert (session.whoami().id, session.whoami().teams) == ("anna", ("ops",))
        (call,) = session.waiting()
        assert (call.nonce, call.entry, call.requester, call.you) == (nonce, b'{"tool": "exec"}', "bert", "anna")
        assert len(call.digest) == 32
        done = session.decide(call.gateway, nonce, "approved", b"body", b"signature", "fine")
        assert (done.status, done.decisions[0].body, done.decisions[0].signature) == ("approved", b"body", b"signature")
        assert caller.present()["outcome"] == "used"
        (closed,) = session.closed()
        assert (closed.status, closed.by, closed.why) == ("used", "anna", "fine")
        with pytest.raises(RefusedError) as refused:
            session.decide(call.gateway, nonce, "denied", b"", b"", "")
        assert refused.value.cause == "used"
        with pytest.raises(RefusedError) as refused:
            session.revive(call.gateway, "aaaaaaaaaaaa", "")
        assert refused.value.cause == "unknown"
        with pytest.raises(FleetError, match="only an admin may do that; you are anna, approver of "):
            session.admit(call.gateway)
        with pytest.raises(FleetError, match="a nonce is"):
            session.decide(call.gateway, "x", "denied", b"", b"", "")
        with pytest.raises(FleetError):
            session.decide(call.gateway, nonce, "denied", b"", b"", "\x00")


def test_an_answer_of_another_form_is_an_error(database: FleetDatabase) -> None:
    with blocking_connection.connected(database.dsn(OWNER), "test") as connection:
        with pytest.raises(FleetError, match="unexpected answer"):
            blocking_connection.first(connection, "SELECT 'text'", (), int)
        with pytest.raises(FleetError, match="unexpected answer"):
            blocking_connection.first(connection, "SELECT 1 WHERE false", (), int)
        with pytest.raises(SchemaError):
            blocking_connection.first(connection, "SELECT fleet.nothing_there()", (), int)


def test_a_lost_connection_is_unreachable(database: FleetDatabase) -> None:
    with open_session(database.dsn(OWNER)) as session:
        database.superuser().execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'toolguard person'"
        )
        with pytest.raises(UnreachableError):
            session.waiting()


def test_the_server_shows_who_is_connected(database: FleetDatabase) -> None:
    with open_session(database.dsn(OWNER)):
        row = database.superuser().execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'toolguard person' AND datname = %s",
            (database.name,),
        )
        assert row.fetchone() == (1,)


def test_a_password_never_reaches_the_server(database: FleetDatabase) -> None:
    with open_session(database.dsn(OWNER)) as session:
        verifier = session.verifier("new_login", "a secret")
    assert verifier.startswith("SCRAM-SHA-256$")
    assert "secret" not in verifier


def test_errors_are_printable_and_short() -> None:
    line = blocking_connection.one_line(psycopg.OperationalError("a\n\x1b[31m" + "x" * 1_000))
    assert line.startswith("a ?[31m")
    assert len(line) == blocking_connection.MAX_ERROR
