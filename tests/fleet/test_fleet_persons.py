"""`toolguard approve`, `deny` and `pending` in a fleet: on the machine of a gateway, and on one that has none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from cli_stage import toolguard
from msgspec import structs

from fleet_database import PASSWORD, FleetDatabase
from fleet_desk import PATIENCE, Approver, FleetDesk, wait_until
from ssh_signers import SshRoom
from toolguard_cli.fleet import gateway_answer
from toolguard_engine.config.settings import parse
from toolguard_engine.stores import open as stores


class Person(Approver):
    """A person at a terminal, with a login and a key of their own."""

    def __init__(self, database: FleetDatabase, room: SshRoom, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(database, room, name)
        self.dsn = database.dsn(f"{name}_{database.name}").replace(f" password={PASSWORD}", "")
        monkeypatch.setenv("TOOLGUARD_FLEET_DSN", self.dsn)

    def run(self, state: Path, *words: str, code: int = 0) -> dict[str, Any]:
        done = toolguard(*words, "--state-dir", state, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def room(tmp_path: Path) -> SshRoom:
    return SshRoom(tmp_path / "trust")


@pytest.fixture
def desk(database: FleetDatabase, tmp_path: Path, room: SshRoom) -> Iterator[FleetDesk]:
    made = FleetDesk(database, tmp_path / "gateway", room)
    settings = {
        "enabled": True, "team": "ops", "dsn": made.config.dsn, "trust": str(room.folder), "trustWritable": True,
    }  # fmt: skip
    entry = {"plugins": {"entries": {"toolguard": {"config": {"fleet": settings}}}}}
    (made.state / "openclaw.json").write_text(json.dumps(entry))
    yield made
    made.close()


@pytest.fixture
def anna(database: FleetDatabase, room: SshRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    passwords = tmp_path / "passwords"
    passwords.write_text(f"*:*:*:*:{PASSWORD}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    return Person(database, room, "anna", monkeypatch)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no engine here that hears of a decision."""
    monkeypatch.setattr(gateway_answer, "PATIENCE", 0.0)


@pytest.fixture
def hears(desk: FleetDesk, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The gateway looks at what was decided, as its engine does."""
    monkeypatch.setattr(gateway_answer, "PATIENCE", PATIENCE)
    over = Event()

    def look() -> None:
        while not over.wait(0.2):
            desk.calls.entries()

    engine = Thread(target=look)
    engine.start()
    yield
    over.set()
    engine.join()


@pytest.mark.usefixtures("hears")
def test_the_gateway_answers_the_approver(desk: FleetDesk, anna: Person, room: SshRoom, tmp_path: Path) -> None:
    nonce, alone = desk.present("rm -rf build").entry.nonce, tmp_path / "alone"
    stranger = ("fleet", "approve", nonce, "--yes", "--key", str(room.key("stranger")))
    rejected = anna.run(alone, *stranger, code=1)
    assert not rejected["ok"]
    assert rejected["data"]["gatewayAnswer"] == "rejected"
    assert rejected["data"]["gatewayReason"]
    accepted = anna.run(alone, "fleet", "approve", nonce, "--yes", "--key", str(anna.key))
    assert accepted["data"]["gatewayAnswer"] == "accepted"


@pytest.mark.usefixtures("hears")
def test_a_person_outside_of_the_policys_team_learns_that_it_does_not_count(
    desk: FleetDesk, anna: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database counts whom its own table names, the gateway whom the signed policy names."""
    nonce = desk.present("rm -rf build").entry.nonce
    missing = "nobody of the team security has approved it"
    proof = type("Proof", (), {"refusal": lambda *_: missing})
    monkeypatch.setattr(desk.calls._setup.proof, "refusal", proof().refusal)
    rejected = anna.run(tmp_path / "alone", "fleet", "approve", nonce, "--yes", "--key", str(anna.key), code=1)
    assert missing in rejected["data"]["gatewayReason"]


def test_an_approval_of_which_nothing_was_heard_is_no_success_of_the_gateway(
    desk: FleetDesk, anna: Person, tmp_path: Path
) -> None:
    nonce = desk.present("rm -rf build").entry.nonce
    words = ("fleet", "approve", nonce, "--yes", "--key", str(anna.key), "--state-dir", str(tmp_path / "alone"))
    done = toolguard(*words)
    assert done.returncode == 0
    assert "its gateway has not said yet whether it counts" in done.stdout
    assert "ok" not in done.stdout.split()


def test_from_a_machine_without_a_gateway(desk: FleetDesk, anna: Person, tmp_path: Path) -> None:
    nonce = desk.present("rm -rf build").entry.nonce
    alone = tmp_path / "alone"
    (call,) = anna.run(alone, "fleet", "pending")["data"]["calls"]
    assert (call["nonce"], call["shown"], call["gateway"]) == (nonce, "rm -rf build", desk.gateway.id)
    assert "binding" not in call
    done = anna.run(alone, "fleet", "approve", nonce[:6], "--yes", "--key", str(anna.key))
    assert done["data"]["status"] == "approved"
    assert desk.present("rm -rf build").outcome == "used"
    other = desk.present("ls").entry.nonce
    assert anna.run(alone, "fleet", "deny", other, "--reason", "no")["data"]["status"] == "denied"
    assert desk.present("ls").outcome == "denied"


def test_on_the_machine_of_the_gateway(desk: FleetDesk, anna: Person) -> None:
    nonce = desk.present("rm -rf build").entry.nonce
    (call,) = anna.run(desk.state, "pending")["data"]["pending"]
    assert call["nonce"] == nonce
    assert anna.run(desk.state, "approve", nonce, "--yes", "--key", str(anna.key))["data"]["status"] == "approved"
    assert desk.present("rm -rf build").outcome == "used"
    other = desk.present("ls").entry.nonce
    assert anna.run(desk.state, "deny", other)["data"]["status"] == "denied"
    assert desk.present("ls").outcome == "denied"


def test_a_key_that_the_gateway_does_not_trust(desk: FleetDesk, anna: Person, room: SshRoom) -> None:
    nonce = desk.present().entry.nonce
    anna.run(desk.state, "fleet", "approve", nonce, "--yes", "--key", str(room.key("stranger")))
    assert desk.present().outcome == "expired"


@pytest.mark.parametrize("prefix", ["zz", "0000ffff0000"])
def test_a_wrong_nonce(desk: FleetDesk, anna: Person, prefix: str) -> None:
    desk.present()
    failed = anna.run(desk.state, "fleet", "approve", prefix, "--yes", code=1)
    assert not failed["ok"]


def test_a_call_of_another_team_is_not_seen(desk: FleetDesk, database: FleetDatabase, anna: Person) -> None:
    nonce = desk.present().entry.nonce
    database.owner().execute("UPDATE fleet.gateway SET team = 'sales'")
    assert anna.run(desk.state, "fleet", "pending")["data"]["calls"] == []
    anna.run(desk.state, "fleet", "deny", nonce, code=1)


def test_an_entry_that_the_database_changed_shows_and_approves_only_itself(
    desk: FleetDesk, database: FleetDatabase, anna: Person
) -> None:
    nonce = desk.present("rm -rf build").entry.nonce
    change = "UPDATE fleet.held SET entry = convert_to(replace(convert_from(entry, 'UTF8'), 'rm -rf build', 'ls'), 'UTF8')"
    owner = database.owner()
    owner.execute("CREATE TABLE fleet.kept AS SELECT * FROM fleet.held")
    owner.execute(change)
    anna.run(desk.state, "fleet", "approve", nonce, "--yes", "--key", str(anna.key))
    owner.execute("UPDATE fleet.held SET entry = kept.entry FROM fleet.kept WHERE kept.nonce = held.nonce")
    refused = desk.present("rm -rf build")
    assert (refused.outcome, refused.refusal) == ("expired", "the call is not the one that was signed")


def test_a_call_that_nobody_answered_is_revived(desk: FleetDesk, anna: Person) -> None:
    nonce = desk.present(wait=0.2).entry.nonce

    def is_over() -> bool:
        return any(entry.nonce == nonce and entry.status == "expired" for entry in desk.calls.entries())

    wait_until(is_over)
    anna.run(desk.state, "revive", nonce)
    anna.run(desk.state, "fleet", "revive", nonce, code=1)
    assert desk.present().fresh
    assert desk.events() == ["hold", "expire", "hold"] or desk.events() == ["hold", "expire", "revive", "hold"]


def test_a_grant_counts_in_a_fleet_only_with_a_signature(desk: FleetDesk, anna: Person) -> None:
    words = ("grant", "rm -rf build", "--tool", "exec", "--for", "1d")
    anna.run(desk.state, *words, "--key", str(anna.key))
    config = parse({"fleet": {"enabled": True, "trust": str(desk.room.folder)}})
    signers = stores.grant_signers(desk.state, config)
    assert signers is not None
    (grant,) = stores.grants(desk.state).known()
    assert signers.allows(grant)
    assert not signers.allows(structs.replace(grant, pattern="*"))
