"""The law of held calls in the database, as `approvals/ledger.py` states it. Time passes by moving rows back."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql

from fleet_database import Connection, FleetDatabase
from held_calls_at_database import Caller, cause, decide, revive


@pytest.fixture
def caller(database: FleetDatabase) -> Caller:
    return Caller(database.gateway_login(), database.gateway())


@pytest.fixture
def anna(database: FleetDatabase) -> Connection:
    return database.person("anna")


@pytest.fixture
def wait(owner: Connection) -> Callable[[float], None]:
    """Lets seconds pass for all held calls."""

    def pass_(seconds: float) -> None:
        past = (f"{seconds} seconds",) * 3
        for table in ("held", "held_closed"):
            command = sql.SQL(
                "UPDATE fleet.{} SET created = created - %s::interval, expires = expires - %s::interval,"
                " decided = decided - %s::interval"
            )
            owner.execute(command.format(sql.Identifier(table)), past)
        owner.execute("UPDATE fleet.decision SET at = at - %s::interval", past[:1])

    return pass_


def refused(error: pytest.ExceptionInfo[psycopg.Error]) -> Any:
    state, why = cause(error.value)
    return why if state == "TG012" else state


def test_a_call_is_held_once_while_it_waits(caller: Caller) -> None:
    first, second = caller.present(), caller.present()
    assert (first["outcome"], first["fresh"]) == ("pending", True)
    assert (second["outcome"], second["fresh"], second["nonce"]) == ("pending", False, first["nonce"])


def test_an_approved_call_is_used_once(caller: Caller, anna: Connection) -> None:
    nonce = caller.present()["nonce"]
    assert decide(anna, caller.gateway, nonce)["status"] == "approved"
    used = caller.present()
    assert (used["outcome"], used["nonce"], used["by"]) == ("used", nonce, "anna")
    (proof,) = used["decisions"]
    assert (proof["approver"], proof["verdict"], proof["body"], proof["signature"]) == (
        "anna", "approved", "Ym9keQ==", "c2lnbmF0dXJl",
    )  # fmt: skip
    again = caller.present()
    assert (again["outcome"], again["fresh"]) == ("pending", True)
    assert again["nonce"] != nonce


def test_another_call_is_not_approved(caller: Caller, anna: Connection) -> None:
    decide(anna, caller.gateway, caller.present()["nonce"])
    assert caller.present("another call")["outcome"] == "pending"


def test_the_same_call_of_another_gateway_is_not_approved(database: FleetDatabase, caller: Caller, anna: Connection) -> None:
    decide(anna, caller.gateway, caller.present()["nonce"])
    other = Caller(caller.connection, database.gateway())
    assert other.present()["outcome"] == "pending"


def test_a_denied_call_is_denied_for_ten_minutes_at_most(
    caller: Caller, anna: Connection, wait: Callable[[float], None]
) -> None:
    denied = decide(anna, caller.gateway, caller.present(wait=36_000.0)["nonce"], "denied", "no")
    assert 599 < denied["left"] <= 600
    again = caller.present()
    assert (again["outcome"], again["why"], again["by"]) == ("denied", "no", "anna")
    wait(601)
    assert caller.present()["outcome"] == "pending"


def test_a_denial_lasts_no_longer_than_the_call_would_have_waited(
    caller: Caller, anna: Connection, wait: Callable[[float], None]
) -> None:
    decide(anna, caller.gateway, caller.present(wait=60.0)["nonce"], "denied")
    wait(61)
    assert caller.present()["outcome"] == "pending"


def test_a_denial_takes_a_yes_back(caller: Caller, anna: Connection) -> None:
    nonce = caller.present()["nonce"]
    decide(anna, caller.gateway, nonce)
    assert decide(anna, caller.gateway, nonce, "denied")["status"] == "denied"
    assert caller.present()["outcome"] == "denied"


@pytest.mark.parametrize("verdict", ["approved", "denied"])
@pytest.mark.parametrize("status", ["used", "denied", "expired"])
def test_a_closed_call_never_opens_again(
    caller: Caller, anna: Connection, wait: Callable[[float], None], status: str, verdict: str
) -> None:
    nonce = caller.present()["nonce"]
    if status == "used":
        decide(anna, caller.gateway, nonce)
        assert caller.present()["outcome"] == "used"
    elif status == "denied":
        decide(anna, caller.gateway, nonce, "denied")
    else:
        wait(4_000)
    with pytest.raises(psycopg.Error) as error:
        decide(anna, caller.gateway, nonce, verdict)
    assert refused(error) == status


def test_a_call_that_nobody_answers_expires(caller: Caller, wait: Callable[[float], None]) -> None:
    first = caller.present(wait=60.0)
    wait(61)
    second = caller.present()
    assert (second["outcome"], second["fresh"]) == ("pending", True)
    assert [entry["nonce"] for entry in caller.entries()["closed"]] == [first["nonce"]]


def test_an_approval_ends_with_its_window(caller: Caller, anna: Connection, wait: Callable[[float], None]) -> None:
    decide(anna, caller.gateway, caller.present(window=30.0)["nonce"])
    wait(31)
    assert caller.present()["outcome"] == "pending"


def test_two_approvers_are_needed_where_the_call_says_so(database: FleetDatabase, caller: Caller, anna: Connection) -> None:
    nonce = caller.present(need=2)["nonce"]
    assert decide(anna, caller.gateway, nonce)["status"] == "pending"
    assert decide(anna, caller.gateway, nonce)["status"] == "pending", "the same person counts once"
    assert caller.present()["outcome"] == "pending"
    assert decide(database.person("bert"), caller.gateway, nonce)["status"] == "approved"
    used = caller.present()
    assert (used["outcome"], used["by"]) == ("used", "anna, bert")
    assert sorted(proof["approver"] for proof in used["decisions"]) == ["anna", "bert"]


def test_who_was_revoked_since_does_not_count(
    database: FleetDatabase, owner: Connection, caller: Caller, anna: Connection
) -> None:
    nonce = caller.present(need=2)["nonce"]
    decide(anna, caller.gateway, nonce)
    owner.execute("SELECT fleet.revoke_approver('anna')")
    assert decide(database.person("bert"), caller.gateway, nonce)["status"] == "pending"


def test_one_no_is_enough(database: FleetDatabase, caller: Caller, anna: Connection) -> None:
    nonce = caller.present(need=2)["nonce"]
    decide(anna, caller.gateway, nonce)
    assert decide(database.person("bert"), caller.gateway, nonce, "denied")["status"] == "denied"


def test_a_signature_can_be_replaced_while_the_call_waits(caller: Caller, anna: Connection) -> None:
    nonce = caller.present()["nonce"]
    decide(anna, caller.gateway, nonce)
    anna.execute("SELECT fleet.decide(%s, %s, 'approved', 'b2', 's2', '')", (caller.gateway.id, nonce))
    (proof,) = caller.present()["decisions"]
    assert proof["signature"] == "czI="


@pytest.mark.parametrize("requester", ["anna", "ANNA"])
def test_who_asked_cannot_approve(caller: Caller, anna: Connection, requester: str) -> None:
    nonce = caller.present(requester=requester)["nonce"]
    with pytest.raises(psycopg.Error) as error:
        decide(anna, caller.gateway, nonce)
    assert refused(error) == "requester"
    assert decide(anna, caller.gateway, nonce, "denied")["status"] == "denied"


def test_a_yes_needs_one_of_the_teams_that_the_call_names(database: FleetDatabase, caller: Caller, anna: Connection) -> None:
    nonce = caller.present(need_teams=["legal"])["nonce"]
    with pytest.raises(psycopg.Error) as error:
        decide(anna, caller.gateway, nonce)
    assert refused(error) == "TG011"
    lawyer = database.person("lena", teams=("legal",))
    assert [row[0]["nonce"] for row in lawyer.execute("SELECT fleet.waiting()")] == [nonce]
    assert decide(lawyer, caller.gateway, nonce)["status"] == "approved"


def test_a_question_that_is_asked_again_has_the_same_answer(caller: Caller, anna: Connection) -> None:
    asked, used_by, denied_by = (secrets.token_bytes(16) for _ in range(3))
    first = caller.present(attempt=asked)
    assert caller.present(attempt=asked)["nonce"] == first["nonce"]
    assert caller.present(attempt=asked)["fresh"] is True
    decide(anna, caller.gateway, first["nonce"])
    assert caller.present(attempt=asked)["outcome"] == "pending", "its answer was: it waits"
    for _ in range(3):
        used = caller.present(attempt=used_by)
        assert (used["outcome"], used["nonce"]) == ("used", first["nonce"])
        assert len(used["decisions"]) == 1
    assert caller.present("another", attempt=denied_by)["fresh"] is True
    decide(anna, caller.gateway, caller.present("another")["nonce"], "denied")
    assert caller.present("another", attempt=denied_by)["outcome"] == "denied"


def test_the_attempt_of_one_call_says_nothing_about_another(caller: Caller, anna: Connection) -> None:
    attempt = secrets.token_bytes(16)
    decide(anna, caller.gateway, caller.present()["nonce"])
    assert caller.present(attempt=attempt)["outcome"] == "used"
    assert caller.present("another call", attempt=attempt)["outcome"] == "pending"


def test_an_approval_that_did_not_run_waits_again(caller: Caller, anna: Connection, wait: Callable[[float], None]) -> None:
    attempt = secrets.token_bytes(16)
    nonce = caller.present()["nonce"]
    decide(anna, caller.gateway, nonce)
    before = caller.present(attempt=attempt)["left"]
    back = caller.give_back(nonce, attempt)
    assert (back["status"], back["nonce"]) == ("approved", nonce)
    assert back["left"] <= before
    assert caller.give_back(nonce, attempt)["nonce"] == nonce, "a lost answer is given again"
    assert caller.present(attempt=attempt)["outcome"] == "pending", "the attempt that gave it back has no use of it"
    used = caller.present()
    assert (used["outcome"], used["nonce"], len(used["decisions"])) == ("used", nonce, 1)
    assert caller.present()["outcome"] == "pending"
    assert caller.give_back(nonce, attempt) is None
    assert caller.give_back(nonce, secrets.token_bytes(16)) is None


def test_what_is_over_is_not_given_back(caller: Caller, anna: Connection, wait: Callable[[float], None]) -> None:
    attempt = secrets.token_bytes(16)
    nonce = caller.present(window=30.0)["nonce"]
    decide(anna, caller.gateway, nonce)
    caller.present(attempt=attempt)
    wait(31)
    assert caller.give_back(nonce, attempt) is None


def test_giving_back_takes_the_place_of_the_same_call_that_waits(caller: Caller, anna: Connection) -> None:
    attempt = secrets.token_bytes(16)
    nonce = caller.present()["nonce"]
    decide(anna, caller.gateway, nonce)
    caller.present(attempt=attempt)
    newer = caller.present()["nonce"]
    assert caller.give_back(nonce, attempt)["nonce"] == nonce
    with pytest.raises(psycopg.Error) as error:
        decide(anna, caller.gateway, newer)
    assert refused(error) == "expired"
    assert caller.present()["nonce"] == nonce


@pytest.mark.parametrize("verdict", ["approved", "denied"])
def test_nothing_is_given_back_over_a_later_decision(caller: Caller, anna: Connection, verdict: str) -> None:
    attempt = secrets.token_bytes(16)
    nonce = caller.present()["nonce"]
    decide(anna, caller.gateway, nonce)
    caller.present(attempt=attempt)
    decide(anna, caller.gateway, caller.present()["nonce"], verdict)
    assert caller.give_back(nonce, attempt) is None


def test_a_gateway_closes_as_denied_or_expired_only(caller: Caller, anna: Connection) -> None:
    nonce = caller.present()["nonce"]
    with pytest.raises(psycopg.Error) as error:
        caller.close(nonce, "used")
    assert refused(error) == "22023"
    decide(anna, caller.gateway, nonce)
    assert caller.close(nonce, "expired") is None
    assert caller.close(nonce, "denied")["status"] == "denied"
    assert caller.close(nonce, "denied") is None
    assert caller.present()["outcome"] == "denied"


def test_a_call_that_nobody_answered_is_revived_once(
    caller: Caller, anna: Connection, wait: Callable[[float], None]
) -> None:
    nonce = caller.present()["nonce"]
    with pytest.raises(psycopg.Error) as error:
        revive(anna, caller.gateway, nonce)
    assert refused(error) == "pending"
    wait(4_000)
    assert revive(anna, caller.gateway, nonce)["by"] == "anna"
    (news,) = caller.sync([nonce])["decided"]
    assert (news["status"], news["by"]) == ("expired", "anna")
    with pytest.raises(psycopg.Error) as error:
        revive(anna, caller.gateway, nonce)
    assert refused(error) == "expired"


def test_what_waits_again_is_not_revived(caller: Caller, anna: Connection, wait: Callable[[float], None]) -> None:
    nonce = caller.present()["nonce"]
    wait(4_000)
    newer = caller.present()["nonce"]
    with pytest.raises(psycopg.Error) as error:
        revive(anna, caller.gateway, nonce)
    assert refused(error) == "again"
    assert error.value.diag.message_hint == newer


def test_what_a_checkpoint_closed_is_not_revived(caller: Caller, anna: Connection) -> None:
    nonce = caller.present()["nonce"]
    caller.close(nonce, "expired", "anna", "cli", "a checkpoint was made: the agent may try the call again")
    with pytest.raises(psycopg.Error) as error:
        revive(anna, caller.gateway, nonce)
    assert refused(error) == "expired"


def test_limits_of_a_session_and_of_a_gateway(database: FleetDatabase, owner: Connection, caller: Caller) -> None:
    for number in range(100):
        assert caller.present(f"call {number}")["outcome"] == "pending"
    assert caller.present("one more")["outcome"] == "too-many"
    assert caller.present("call 5")["outcome"] == "pending", "what is held already is no new call"
    assert caller.present("one more", session="another")["outcome"] == "pending"
    owner.execute(
        "INSERT INTO fleet.held SELECT gateway, to_hex(10000000 + n), 'b' || n, 's' || n, '', digest, entry, attempt, NULL,"
        " need, need_teams, wait, approval_window, 'pending', created, expires"
        " FROM fleet.held, generate_series(1, 899) AS n WHERE binding = 'call 5'"
    )
    assert caller.present("one too many", session="third")["outcome"] == "too-many"
    assert Caller(caller.connection, database.gateway()).present()["outcome"] == "pending", "limits are for each gateway"


def test_a_taken_nonce_is_refused(caller: Caller) -> None:
    nonce = caller.present()["nonce"]
    with pytest.raises(psycopg.Error) as error:
        caller.present("another call", nonce=nonce)
    assert refused(error) == "TG021"
    caller.close(nonce, "denied")
    with pytest.raises(psycopg.Error) as error:
        caller.present("another call", nonce=nonce)
    assert refused(error) == "TG021"


def test_the_pace_fits_the_fleet_as_soon_as_it_is_admitted(
    owner: Connection, caller: Caller, database: FleetDatabase
) -> None:
    owner.execute("ALTER TABLE fleet.gateway SET (autovacuum_enabled = false)")
    with owner.transaction():
        owner.execute(
            "INSERT INTO fleet.gateway (id, token_hash, team, state)"
            " SELECT 'gw-' || lpad(to_hex(n), 16, '0'), sha256(n::text::bytea), 'ops', 'admitted'"
            " FROM generate_series(1, 3999) AS n"
        )
    assert caller.sync()["next_ms"] == 1000, "nothing has counted them yet"
    database.gateway()
    assert 1900 < caller.sync()["next_ms"] < 2100


def test_sync_tells_the_state_and_the_pace(owner: Connection, caller: Caller, anna: Connection) -> None:
    quiet = caller.sync()
    assert (quiet["kill"], quiet["policy_version"], quiet["decided"], quiet["next_ms"]) == (False, 0, [], 1000)
    yes, no, open_ = (caller.present(f"call {number}")["nonce"] for number in range(3))
    decide(anna, caller.gateway, yes)
    decide(anna, caller.gateway, no, "denied", "not now")
    news = caller.sync([yes, no, open_])
    assert {(each["nonce"], each["status"], each["by"], each["why"]) for each in news["decided"]} == {
        (yes, "approved", "anna", ""),
        (no, "denied", "anna", "not now"),
    }
    assert news["next_ms"] == 250
    owner.execute("UPDATE fleet.team_state SET policy_version = 3 WHERE team = '*'")
    owner.execute("UPDATE fleet.team_state SET kill = true, kill_why = 'stop', kill_by = 'anna', policy_version = 7"
                  " WHERE team = 'ops'")  # fmt: skip
    state = caller.sync()
    assert (state["kill"], state["kill_why"], state["policy_version"]) == (True, "stop", 7)
    owner.execute("UPDATE fleet.team_state SET kill = (team = '*'), policy_version = 3")
    assert caller.sync()["kill"] is True


def test_entries_are_the_open_ones_and_those_that_were_closed(caller: Caller, anna: Connection) -> None:
    first, second = caller.present("first", entry=b"one")["nonce"], caller.present("second")["nonce"]
    decide(anna, caller.gateway, second, "denied")
    found = caller.entries()
    assert [(each["nonce"], each["entry"]) for each in found["open"]] == [(first, "b25l")]
    assert [(each["nonce"], each["status"]) for each in found["closed"]] == [(second, "denied")]


def test_persons_see_what_waits_and_what_was_closed(caller: Caller, anna: Connection) -> None:
    first, second = caller.present("first")["nonce"], caller.present("second")["nonce"]
    decide(anna, caller.gateway, second, "denied")
    assert [row[0]["nonce"] for row in anna.execute("SELECT fleet.waiting()")] == [first]
    ((found,),) = anna.execute("SELECT fleet.closed(24)").fetchall()
    assert (found["nonce"], found["team"], found["status"]) == (second, "ops", "denied")


# --- how long an approval lasts -----------------------------------------------------------------------------------------


def test_the_end_of_an_approval_is_moved_within_ten_minutes(
    caller: Caller, anna: Connection, wait: Callable[[float], None]
) -> None:
    nonce = caller.present(window=30.0)["nonce"]
    decide(anna, caller.gateway, nonce)
    assert 29 < caller.move_end(nonce, 30.0)["left"] <= 30
    wait(20)
    assert 29 < caller.move_end(nonce, 30.0)["left"] <= 30
    assert 570 < caller.move_end(nonce, 600.0)["left"] <= 580, "ten minutes after the approval at the latest"
    assert 4 < caller.move_end(nonce, 5.0)["left"] <= 5
    wait(6)
    assert caller.move_end(nonce, 30.0) is None, "what is over stays over"
    assert caller.present()["fresh"] is True


@pytest.mark.parametrize("left", [0.0, -1.0, 600.1, float("nan"), float("inf")])
def test_no_other_time_is_taken(caller: Caller, anna: Connection, left: float) -> None:
    nonce = caller.present()["nonce"]
    decide(anna, caller.gateway, nonce)
    with pytest.raises(psycopg.Error):
        caller.move_end(nonce, left)


def test_only_of_an_approval_the_end_is_moved(caller: Caller, anna: Connection) -> None:
    attempt = secrets.token_bytes(16)
    nonce = caller.present()["nonce"]
    assert caller.move_end(nonce, 30.0) is None, "it waits"
    decide(anna, caller.gateway, nonce)
    caller.present(attempt=attempt)
    assert caller.move_end(nonce, 30.0) is None, "it was used"
    caller.give_back(nonce, attempt)
    assert caller.move_end(nonce, 30.0) is None, "it keeps its time, now that it is there again"
    denied = caller.present("another")["nonce"]
    decide(anna, caller.gateway, denied, "denied")
    assert caller.move_end(denied, 30.0) is None


def test_a_lapsed_approval_may_be_revived_once(caller: Caller, anna: Connection, wait: Callable[[float], None]) -> None:
    nonce = caller.present(window=30.0)["nonce"]
    decide(anna, caller.gateway, nonce)
    with pytest.raises(psycopg.Error):
        revive(anna, caller.gateway, nonce)
    wait(31)
    assert revive(anna, caller.gateway, nonce)["status"] == "expired"
    with pytest.raises(psycopg.Error):
        revive(anna, caller.gateway, nonce)
    assert caller.present()["fresh"] is True
