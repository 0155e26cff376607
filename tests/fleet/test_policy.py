"""Signed policies and `need` in a fleet: a real courier and database, persons with real keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from msgspec import structs

from fleet_database import Connection, FleetDatabase
from fleet_desk import Approver, FleetDesk, wait_until
from policy_desk import OPTIONS, RULE, PolicyAdmin, policy_text
from ssh_signers import SshRoom, sign
from toolguard_engine.model.held_details import HeldDetails, HeldEffect
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.fleet.last_good_policy import LastGoodPolicy
from toolguard_engine.stores.values import Presented

TEAMS = """
[teams]
ops = ["anna@example.com", "bert@example.com"]
legal = ["dora@example.com"]
"""
TWO = f"""{TEAMS}
[[approvers]]
effect = ["delete"]
stakes = 8
need = 2
teams = ["ops"]
"""
DELETES = HeldDetails((HeldEffect("delete", "build"),), stakes=9)


@pytest.fixture
def room(tmp_path: Path) -> SshRoom:
    return SshRoom(tmp_path / "trust")


@pytest.fixture
def desk(database: FleetDatabase, tmp_path: Path, room: SshRoom) -> Iterator[FleetDesk]:
    made = FleetDesk(database, tmp_path / "gateway", room)
    yield made
    made.close()


@pytest.fixture
def admin(database: FleetDatabase, room: SshRoom) -> PolicyAdmin:
    return PolicyAdmin(database.person("root", "admin"), room)


@pytest.fixture
def approver(database: FleetDatabase, room: SshRoom) -> Callable[..., Approver]:
    return lambda name, **more: Approver(database, room, name, **more)


def kept(desk: FleetDesk) -> LastGoodPolicy:
    return LastGoodPolicy(desk.state, "ops", Path(desk.config.trust))


def version(desk: FleetDesk) -> int:
    found = kept(desk).load()
    return found.policy.version if found else 0


def status(desk: FleetDesk) -> Any:
    return desk.client.switch.status


def present(desk: FleetDesk, details: HeldDetails | None = DELETES, requester: str = "", command: str = "rm") -> Presented:
    request = structs.replace(desk.request(command), details=details, requester=requester)
    return desk.calls.present(request, time.time())


def in_force(desk: FleetDesk, number: int) -> None:
    desk.calls.gateway_id()
    wait_until(lambda: version(desk) == number)


def refused(desk: FleetDesk, words: str) -> None:
    wait_until(lambda: words in status(desk).policy_error)


def test_a_pushed_policy_comes_into_force(desk: FleetDesk, admin: PolicyAdmin) -> None:
    admin.push(1)
    in_force(desk, 1)
    admin.push(2, TWO)
    in_force(desk, 2)
    rules = stores.user_policy(desk.state, desk.config)
    rules.look()
    assert rules.rules == ()
    wait_until(lambda: desk.events().count("policy") == 2)
    assert (status(desk).policy_error, stores.audit_log(desk.state).verify().error) == ("", "")


@pytest.mark.thorough
def test_what_the_database_changes_leaves_the_last_good_policy(
    desk: FleetDesk, admin: PolicyAdmin, owner: Connection, room: SshRoom
) -> None:
    first = admin.push(1, TWO)
    admin.push(2, TWO)
    in_force(desk, 2)
    hint = "UPDATE fleet.team_state SET policy_version = policy_version + 1"
    mallory = room.key("mallory")
    weak = policy_text(3, TEAMS)
    forged = sign(weak.encode(), mallory, "toolguard-policy").encode()
    change = "UPDATE fleet.policy SET version = %s, toml = %s, signature = %s WHERE version >= 2"
    good = admin.sign(policy_text(2, TWO)).encode()
    for number, text, signature, words in (
        (3, weak, forged, "signature"),
        (4, weak, b"", "signature"),
        (5, policy_text(5, TWO), good, "signature"),
        (6, first, admin.sign(first).encode(), "version 1, and version 2 is in force"),
    ):
        owner.execute(change, (number, text.encode(), signature))
        owner.execute(hint)
        refused(desk, f"version {number} was refused: ")
        assert words in status(desk).policy_error
        assert version(desk) == 2
    desk.close()
    desk.start()
    assert version(desk) == 2
    assert present(desk).entry.nonce
    (row,) = owner.execute("SELECT need, need_teams FROM fleet.held").fetchall()
    assert row == (2, ["ops"])
    owner.execute("DELETE FROM fleet.policy")
    owner.execute("UPDATE fleet.team_state SET policy_version = 0")
    refused(desk, "has no policy")
    assert version(desk) == 2
    assert desk.events().count("policy") >= 6


def test_a_gateway_that_is_given_the_policy_of_another_team(desk: FleetDesk, admin: PolicyAdmin, owner: Connection) -> None:
    text = policy_text(1, RULE, "dev")
    owner.execute("INSERT INTO fleet.policy VALUES ('ops', 1, %s, %s, 'x')", (text.encode(), admin.sign(text).encode()))
    owner.execute("UPDATE fleet.team_state SET policy_version = 1")
    desk.calls.gateway_id()
    refused(desk, "for the team dev")
    assert version(desk) == 0


def test_two_persons_of_the_team_are_needed(desk: FleetDesk, admin: PolicyAdmin, approver: Callable[..., Approver]) -> None:
    anna, bert = approver("anna"), approver("bert")
    admin.push(1, TWO)
    in_force(desk, 1)
    held = present(desk).entry
    assert anna.approve(held.nonce)["status"] == "pending"
    assert present(desk).outcome == "pending"
    assert bert.approve(held.nonce)["status"] == "approved"
    assert present(desk).outcome == "used"
    assert present(desk).fresh


def test_calls_that_no_table_names_need_one_person(
    desk: FleetDesk, admin: PolicyAdmin, approver: Callable[..., Approver]
) -> None:
    anna = approver("anna")
    admin.push(1, TWO)
    in_force(desk, 1)
    held = present(desk, HeldDetails((HeldEffect("read"),), stakes=9)).entry
    anna.approve(held.nonce)
    assert present(desk, HeldDetails((HeldEffect("read"),), stakes=9)).outcome == "used"


def write_decisions(owner: Connection, row: dict[str, Any], given: list[tuple[str, bytes, str]]) -> None:
    """As the owner of the database: these signatures, and that they are enough."""
    for number, (name, body, signature) in enumerate(given):
        owner.execute(
            "INSERT INTO fleet.decision (day, gateway, nonce, approver, number, verdict, body, signature, why, at)"
            " VALUES ((clock_timestamp() AT TIME ZONE 'UTC')::date, %s, %s, %s, %s, 'approved', %s, %s, '',"
            " clock_timestamp())",
            (row["gateway"], row["nonce"], name, number, body, signature.encode()),
        )
    owner.execute("UPDATE fleet.held SET status = 'approved', decided = clock_timestamp() WHERE nonce = %s", (row["nonce"],))


@pytest.mark.thorough
def test_one_of_two_signatures_and_whatever_else_is_not_two_persons(
    desk: FleetDesk, admin: PolicyAdmin, approver: Callable[..., Approver], owner: Connection, room: SshRoom
) -> None:
    anna, dora, mallory = approver("anna"), approver("dora"), approver("mallory", is_trusted=False)
    admin.push(1, TWO)
    in_force(desk, 1)
    second = room.key("anna-second")
    room.allow("anna@example.com", second)
    old, over = room.key("old"), room.key("over")
    room.allow("bert@example.com", old)
    room.revoke(old)
    room.allow("bert@example.com", over, 'valid-before="20200101"')

    def offered(others: Callable[[bytes, dict[str, Any]], list[tuple[str, bytes, str]]]) -> Presented:
        nonce = present(desk).entry.nonce
        row = next(row for row in anna.waiting() if row["nonce"] == nonce)
        body = anna.body(row)
        write_decisions(owner, row, [("anna", body, sign(body, anna.key)), *others(body, row)])
        return present(desk)

    cases: dict[str, Callable[[bytes, dict[str, Any]], list[tuple[str, bytes, str]]]] = {
        "one of two": lambda _body, _row: [],
        "the same signature twice": lambda body, _row: [("bert", body, sign(body, anna.key))],
        "the same principal with another key": lambda body, _row: [("bert", body, sign(body, second))],
        "a member of another team": lambda body, _row: [("dora", body, sign(body, dora.key))],
        "a key that is not allowed": lambda body, _row: [("bert", body, sign(body, mallory.key))],
        "a revoked key": lambda body, _row: [("bert", body, sign(body, old))],
        "a key that is over": lambda body, _row: [("bert", body, sign(body, over))],
        "the policy's key": lambda body, _row: [("bert", body, sign(body, admin.key))],
        "another namespace": lambda body, _row: [("bert", body, sign(body, second, "toolguard-policy"))],
        "of another call": lambda body, row: [
            ("bert", body.replace(row["nonce"].encode(), b"0123456789ab"), sign(body, dora.key))
        ],
        "a lower need": lambda _body, row: [
            ("bert", anna.body(row, need=1), sign(anna.body(row, need=1), anna.key))
        ],
    }  # fmt: skip
    for name, others in cases.items():
        found = offered(others)
        assert (found.outcome, bool(found.refusal)) == ("expired", True), name
    approver("bert")
    bert = room.folder / "bert"
    assert offered(lambda body, _row: [("bert", body, sign(body, bert))]).outcome == "used"


def test_who_asked_for_a_call_does_not_count(
    desk: FleetDesk, admin: PolicyAdmin, approver: Callable[..., Approver], owner: Connection
) -> None:
    anna, bert = approver("anna"), approver("bert")
    admin.push(1, TWO)
    in_force(desk, 1)
    held = present(desk, requester="Anna@Example.com").entry
    row = next(row for row in anna.waiting() if row["nonce"] == held.nonce)
    body = anna.body(row)
    both = [("anna", body, sign(body, anna.key)), ("bert", body, sign(body, bert.key))]
    write_decisions(owner, row, both)
    found = present(desk, requester="Anna@Example.com")
    assert (found.outcome, "1 of 2 people" in found.refusal) == ("expired", True)


def test_a_lower_need_in_the_database_lets_nothing_run(
    desk: FleetDesk, admin: PolicyAdmin, approver: Callable[..., Approver], owner: Connection
) -> None:
    """The second half of test 5 of the specification."""
    anna = approver("anna")
    admin.push(1, TWO)
    in_force(desk, 1)
    held = present(desk).entry
    owner.execute("UPDATE fleet.held SET need = 1, need_teams = '{}' WHERE nonce = %s", (held.nonce,))
    anna.approve(held.nonce)
    found = present(desk)
    assert (found.outcome, bool(found.refusal)) == ("expired", True)
    held = present(desk).entry
    owner.execute("UPDATE fleet.held SET need = 1 WHERE nonce = %s", (held.nonce,))
    anna.approve(held.nonce, need=2)
    assert "1 of 2 people" in present(desk).refusal


def test_a_policy_of_other_teams_adds_up(
    desk: FleetDesk, admin: PolicyAdmin, approver: Callable[..., Approver], database: FleetDatabase
) -> None:
    anna, dora = approver("anna"), approver("dora")
    admin.push(1, f'{TEAMS}[[approvers]]\nteams = ["ops"]\n[[approvers]]\nteams = ["legal"]\n')
    in_force(desk, 1)
    owner = database.owner()
    owner.execute("UPDATE fleet.approver SET teams = '{ops,legal}'")
    held = present(desk).entry
    anna.approve(held.nonce)
    dora.approve(held.nonce)
    assert present(desk).outcome == "used"


def test_only_admins_of_the_team_push_and_versions_grow(admin: PolicyAdmin, database: FleetDatabase, room: SshRoom) -> None:
    admin.push(2)
    for number in (1, 2):
        with pytest.raises(psycopg.Error, match="version 2 is in force") as caught:
            admin.push(number)
        assert caught.value.sqlstate == "TG030"
    dev = PolicyAdmin(database.person("dev", "admin", ("dev",)), room, "dev")
    bert = PolicyAdmin(database.person("bert"), room, "bert")
    for other, team, code in ((dev, "ops", "TG011"), (dev, "*", "TG011"), (bert, "ops", "42501")):
        with pytest.raises(psycopg.Error) as caught:
            other.push(3, team=team)
        assert caught.value.sqlstate == code
    for text, signature in ((b"", b"x"), (b"x" * 300_000, b"x"), (b"x", b""), (b"x", b"x" * 20_000)):
        with pytest.raises(psycopg.Error) as caught:
            admin.connection.execute("SELECT fleet.push_policy('ops', 3, %s, %s)", (text, signature))
        assert caught.value.sqlstate == "22023"
    dev.push(1, team="dev")
    assert database.gateway_login().execute("SELECT has_table_privilege('fleet.policy', 'SELECT')").fetchone() == (False,)


def test_a_gateway_gets_its_teams_policy_and_no_other(admin: PolicyAdmin, database: FleetDatabase) -> None:
    ops, dev = database.gateway("ops"), database.gateway("dev")
    login = database.gateway_login()
    root = database.person("super", "admin", ("*",))

    def of(gateway: Any) -> Any:
        row = login.execute("SELECT fleet.policy_of(%s, %s)", (gateway.id, gateway.token)).fetchone()
        assert row
        return row[0] and (row[0]["team"], row[0]["version"])

    assert of(ops) is None
    admin.push(1)
    assert (of(ops), of(dev)) == (("ops", 1), None)
    root.execute("SELECT fleet.push_policy('*', 7, %s, %s)", (b"x", b"y"))
    assert (of(ops), of(dev)) == (("ops", 1), ("*", 7))
    with pytest.raises(psycopg.Error) as caught:
        login.execute("SELECT fleet.policy_of(%s, %s)", (ops.id, dev.token))
    assert caught.value.sqlstate == "TG001"


def test_an_approver_cannot_sign_a_policy(
    desk: FleetDesk, admin: PolicyAdmin, approver: Callable[..., Approver], room: SshRoom
) -> None:
    anna = approver("anna")
    assert OPTIONS not in (room.allowed.read_text().splitlines()[-1])
    admin.push(1, TWO, key=anna.key)
    desk.calls.gateway_id()
    refused(desk, "signature")
    assert version(desk) == 0
