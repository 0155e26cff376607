"""Real connections at once: an approval is used once, whoever asks and decides at the same time."""

from __future__ import annotations

import secrets
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg

from fleet_database import FleetDatabase
from held_calls_at_database import Caller, cause, decide

AT_ONCE = 16


def at_once(works: list[Any]) -> list[Any]:
    """What each of these functions returns, all begun at the same time, each in its own thread."""
    gate = Barrier(len(works))

    def run(work: Any) -> Any:
        gate.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def test_an_approval_is_used_by_one_of_many(database: FleetDatabase) -> None:
    gateway, anna = database.gateway(), database.person("anna")
    callers = [Caller(database.gateway_login(), gateway) for _ in range(AT_ONCE)]
    for _ in range(5):
        nonce = callers[0].present()["nonce"]
        decide(anna, gateway, nonce)
        answers = at_once([caller.present for caller in callers])
        assert [answer["nonce"] for answer in answers if answer["outcome"] == "used"] == [nonce]
        (newer,) = {answer["nonce"] for answer in answers if answer["outcome"] == "pending"}
        callers[0].close(newer, "expired", "test", "test", "the next round")


def test_one_attempt_that_is_asked_many_times_at_once_has_one_answer(database: FleetDatabase) -> None:
    gateway, anna = database.gateway(), database.person("anna")
    callers = [Caller(database.gateway_login(), gateway) for _ in range(AT_ONCE)]
    attempt = secrets.token_bytes(16)
    decide(anna, gateway, callers[0].present()["nonce"])
    answers = at_once([lambda caller=caller: caller.present(attempt=attempt) for caller in callers])
    assert {answer["outcome"] for answer in answers} == {"used"}
    assert callers[0].present()["outcome"] == "pending"


def test_a_call_that_is_presented_at_once_is_held_once(database: FleetDatabase) -> None:
    gateway = database.gateway()
    callers = [Caller(database.gateway_login(), gateway) for _ in range(AT_ONCE)]
    answers = at_once([caller.present for caller in callers])
    assert len({answer["nonce"] for answer in answers}) == 1
    assert Counter(answer["fresh"] for answer in answers) == {True: 1, False: AT_ONCE - 1}


def test_a_limit_is_exact(database: FleetDatabase) -> None:
    gateway = database.gateway()
    callers = [Caller(database.gateway_login(), gateway) for _ in range(AT_ONCE)]
    for number in range(92):
        callers[0].present(f"call {number}")
    answers = at_once([lambda c=caller, n=n: c.present(f"more {n}") for n, caller in enumerate(callers)])
    assert Counter(answer["outcome"] for answer in answers) == {"pending": 8, "too-many": AT_ONCE - 8}


def test_a_denial_and_a_use_at_once(database: FleetDatabase) -> None:
    """Either the call was used, and the denial is refused; or it is denied, and never used."""
    gateway, anna, bert = database.gateway(), database.person("anna"), database.person("bert")
    callers = [Caller(database.gateway_login(), gateway) for _ in range(4)]
    for number in range(10):
        name = f"call {number}"
        nonce = callers[0].present(name)["nonce"]
        decide(anna, gateway, nonce)

        def deny(nonce: str = nonce) -> Any:
            try:
                return decide(bert, gateway, nonce, "denied")["status"]
            except psycopg.Error as error:
                return cause(error)

        denied, *answers = at_once([deny, *(lambda c=caller, n=name: c.present(n)["outcome"] for caller in callers)])
        if denied == "denied":
            assert set(answers) <= {"denied", "used"}
            assert "used" not in answers
        else:
            assert denied == ("TG012", "used")
            assert answers.count("used") == 1


def test_two_persons_decide_at_once(database: FleetDatabase) -> None:
    gateway = database.gateway()
    caller = Caller(database.gateway_login(), gateway)
    persons = [database.person(f"person{number}") for number in range(6)]
    for need in (1, 3):
        nonce = caller.present(f"need {need}", need=need)["nonce"]

        def approve(person: Any, nonce: str = nonce) -> Any:
            try:
                return decide(person, gateway, nonce)["status"]
            except psycopg.Error as error:
                return cause(error)

        answers = at_once([lambda p=person: approve(p) for person in persons])
        assert Counter(answers) == Counter({"pending": need - 1, "approved": 1, ("TG012", "approved"): len(persons) - need})
        assert len(caller.present(f"need {need}")["decisions"]) == need
