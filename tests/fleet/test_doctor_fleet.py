"""What `toolguard doctor` reports about a fleet, with a real database."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleet_database import FleetDatabase
from fleet_desk import TEAM, join, passwordless
from ssh_signers import SshRoom
from toolguard_cli.doctor.check_types import DoctorSubject
from toolguard_cli.doctor.checks import fleet_check
from toolguard_cli.fleet import database_facts
from toolguard_cli.fleet.database_facts import DatabaseFacts
from toolguard_cli.system.paths import Places
from toolguard_engine.config import settings
from toolguard_engine.stores.fleet import fleet_state
from toolguard_engine.stores.fleet.fleet_state import FleetState
from toolguard_engine.stores.fleet.pipe_messages import FleetStatus

ALONE = """
import sys
from pathlib import Path
from toolguard_cli.doctor.check_list import TABLE
from toolguard_cli.doctor.check_types import DoctorSubject
from toolguard_cli.system.paths import Places
subject = DoctorSubject(Places(Path(sys.argv[1]), Path(sys.argv[1]) / "openclaw.json"), None, None)
print([row.check(subject).status for row in TABLE if row.id.startswith("fleet")])
print([name for name in sys.modules if name.startswith(("psycopg", "toolguard_fleet"))])
"""


@pytest.fixture
def subject(database: FleetDatabase, tmp_path: Path) -> Callable[..., DoctorSubject]:
    """A gateway that joined and was admitted; `changed`: settings of the fleet."""
    state = tmp_path / "state"
    join(state, database.gateway(TEAM))
    room = SshRoom(tmp_path / "trust")
    fleet = {
        "enabled": True, "team": TEAM, "dsn": passwordless(database, tmp_path), "trust": str(room.folder),
        "trustWritable": True,
    }  # fmt: skip

    def make(**changed: Any) -> DoctorSubject:
        config = settings.parse({"fleet": {**fleet, **changed}})
        return replace(DoctorSubject(Places(state, state / "openclaw.json"), None, None), settings=config)

    return make


def test_without_a_fleet_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout.splitlines() == ["['ok', 'ok', 'ok', 'ok']", "[]"], done.stderr


def test_a_database_without_a_standby(subject: Callable[..., DoctorSubject]) -> None:
    found = fleet_check.database(subject())
    assert (found.status, found.data["synchronousStandby"]) == ("warn", False)
    assert found.detail.startswith("it has no synchronous standby")
    assert abs(found.data["skew"]) < fleet_check.MAX_SKEW


def test_a_gateway_that_is_not_admitted(subject: Callable[..., DoctorSubject], database: FleetDatabase) -> None:
    database.owner().execute("SELECT fleet.revoke_gateway(id) FROM fleet.gateway")
    found = fleet_check.database(subject())
    assert (found.status, "revoked" in found.detail) == ("error", True), found


def test_a_database_that_cannot_be_reached(subject: Callable[..., DoctorSubject]) -> None:
    found = fleet_check.database(subject(dsn="host=127.0.0.1 port=1 dbname=fleet user=toolguard_gateway"))
    assert (found.status, found.detail.startswith("held calls are blocked")) == ("error", True)


def test_an_unverified_connection_is_refused(subject: Callable[..., DoctorSubject]) -> None:
    found = fleet_check.database(subject(dsn="host=192.0.2.1 dbname=fleet user=toolguard_gateway sslmode=require"))
    assert (found.status, "sslmode=verify-full" in found.detail) == ("error", True), found


def test_a_database_without_the_schema(
    subject: Callable[..., DoctorSubject], database: FleetDatabase, tmp_path: Path
) -> None:
    dsn = database.empty()
    name = dict(part.split("=", 1) for part in dsn.split())["dbname"]
    given = passwordless(database, tmp_path).replace(f"dbname={database.name}", f"dbname={name}")
    assert fleet_check.database(subject(dsn=given)).status == "error"


@pytest.mark.parametrize(
    ("changed", "status", "words"),
    [
        ({}, "ok", "schema 5"),
        ({"skew": 600.0}, "warn", "+600.0 s"),
        ({"skew": -2.5}, "warn", "-2.5 s"),
        ({"version_problem": "the schema has version 9"}, "error", "version 9"),
        ({"is_local": False}, "error", "not encrypted"),
    ],
)
def test_what_the_database_answers(
    subject: Callable[..., DoctorSubject], monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], status: str, words: str
) -> None:
    facts = replace(
        DatabaseFacts(
            "gw-1",
            is_local=True,
            is_encrypted=False,
            has_standby=True,
            skew=0.1,
            schema=5,
            known=5,
            version_problem="",
            refusal="",
        ),
        **changed,
    )
    monkeypatch.setattr(database_facts, "ask", lambda *_: facts)
    found = fleet_check.database(subject())
    assert (found.status, words in found.detail) == (status, True), found


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (FleetState(), "has not had contact"),
        (FleetState(status=FleetStatus(contact=1_000.0, error="it does not answer")), "ago: it does not answer"),
        (FleetState(status=FleetStatus(contact=time.time() + 86_400), queue={"audit": 20_000}), "20000 of audit"),
        (
            FleetState(status=FleetStatus(contact=time.time() + 86_400), shipping_errors={"audit": "no disk\x1b"}),
            "copying to the fleet fails: audit: no disk<U+001B>",
        ),
    ],
)
def test_contact_and_queue(subject: Callable[..., DoctorSubject], state: FleetState, words: str) -> None:
    given = subject()
    fleet_state.save(given.places.state_dir, state)
    found = fleet_check.ready(given)
    assert (found.status, words in found.detail) == ("warn", True), found
