"""The law of held calls, for files and for PostgreSQL: one suite, on the store as an engine uses it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from effort import examples
from fleet_desk import wait_until
from store_backends import Backend, made, present
from toolguard_engine.approvals.ledger import RefusedError
from toolguard_engine.stores.ports import HeldCallStore

RACERS = 3


@pytest.fixture(params=["files", "postgresql"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    found = made(request.param, tmp_path, request)
    yield found
    found.close()


def test_held_once_and_used_once(backend: Backend) -> None:
    first, again = (present(backend.calls, "a") for _ in range(2))
    assert (first.outcome, first.fresh, again.outcome, again.fresh) == ("pending", True, "pending", False)
    assert first.entry.nonce == again.entry.nonce
    assert not backend.calls.is_decided(first.entry.nonce, first.entry.created)
    backend.decide(first.entry.nonce, "approved")
    assert present(backend.calls, "b").outcome == "pending", "another call"
    assert present(backend.calls, "a").outcome == "used"
    assert backend.calls.is_decided(first.entry.nonce, first.entry.created)
    anew = present(backend.calls, "a")
    assert anew.fresh
    assert anew.entry.nonce != first.entry.nonce
    assert sorted(backend.events()) == sorted(["hold", "approve", "hold", "consume", "hold"])


def test_one_of_many_uses_an_approval(backend: Backend) -> None:
    engines: list[HeldCallStore] = [backend.another() for _ in range(RACERS)]
    for engine in engines:
        present(engine, "warm up")
    for number in range(5):
        nonce = present(backend.calls, f"call {number}").entry.nonce
        backend.decide(nonce, "approved")
        with ThreadPoolExecutor(RACERS) as pool:
            found = list(pool.map(lambda engine, name=f"call {number}": present(engine, name), engines))  # type: ignore[misc]
        assert [each.entry.nonce for each in found if each.outcome == "used"] == [nonce]
        others = {each.entry.nonce for each in found if each.outcome == "pending"}
        assert len(others) == 1, "the same call is held once"


def test_a_no_takes_a_yes_back_until_it_is_used(backend: Backend) -> None:
    nonce = present(backend.calls, "a").entry.nonce
    backend.decide(nonce, "approved")
    backend.decide(nonce, "denied")
    assert present(backend.calls, "a").outcome == "denied"
    for verdict in ("approved", "denied"):
        with pytest.raises(RefusedError, match="denied"):
            backend.decide(nonce, verdict)
    used = present(backend.calls, "b").entry.nonce
    backend.decide(used, "approved")
    assert present(backend.calls, "b").outcome == "used"
    with pytest.raises(RefusedError, match="used"):
        backend.decide(used, "denied")


def test_what_nobody_answers_expires_and_can_be_revived_once(backend: Backend) -> None:
    gone = present(backend.calls, "a", wait=0.5).entry.nonce

    def status() -> str:
        backend.calls.sweep(present(backend.calls, "other").entry.created)
        found = (entry.status for entry in backend.calls.entries() if entry.nonce == gone)
        return next(found, "over, and not yet swept")

    wait_until(lambda: status() == "expired")
    with pytest.raises(RefusedError):
        backend.decide(gone, "approved")
    backend.revive(gone)
    with pytest.raises(RefusedError):
        backend.revive(gone)
    anew = present(backend.calls, "a")
    assert (anew.fresh, anew.entry.nonce == gone) == (True, False)


def test_another_engine_goes_on(backend: Backend) -> None:
    nonce = present(backend.calls, "a").entry.nonce
    backend.decide(nonce, "approved")
    later = backend.another()
    (entry,) = later.entries()
    assert (entry.nonce, entry.status) == (nonce, "approved")
    assert present(later, "a").outcome == "used"
    assert present(backend.calls, "a").fresh
    assert sorted(backend.events()) == sorted(["hold", "approve", "consume", "hold"])


def test_an_approval_whose_call_did_not_run_is_given_back(backend: Backend) -> None:
    nonce = present(backend.calls, "a").entry.nonce
    backend.decide(nonce, "approved")
    used = present(backend.calls, "a").entry
    assert backend.calls.give_back(used, used.created) is not None
    assert present(backend.calls, "a").outcome == "used"
    assert present(backend.calls, "a").fresh


class StoreLaw(RuleBasedStateMachine):
    """Calls of one gateway against what they must be. Bindings of each example are its own."""

    backend: Backend
    numbers = count()
    CALLS = st.integers(0, 2)

    def __init__(self) -> None:
        super().__init__()
        self.example = next(self.numbers)
        self.state: dict[int, str] = {}
        self.nonce: dict[int, str] = {}
        self.uses: list[str] = []

    @rule(call=CALLS)
    def ask(self, call: int) -> None:
        found = present(self.backend.calls, f"example {self.example} call {call}")
        expected = {"pending": "pending", "approved": "used", "denied": "denied"}.get(self.state.get(call, ""), "pending")
        assert found.outcome == expected
        assert found.fresh == (self.state.get(call, "used") == "used")
        if found.fresh:
            assert found.entry.nonce not in self.nonce.values()
        else:
            assert found.entry.nonce == self.nonce[call]
        self.nonce[call] = found.entry.nonce
        self.state[call] = found.outcome
        self.uses += [found.entry.nonce] if found.outcome == "used" else []

    @rule(call=CALLS, yes=st.booleans())
    def decide(self, call: int, yes: bool) -> None:  # noqa: FBT001
        state = self.state.get(call)
        if state is None:
            return
        verdict = "approved" if yes else "denied"
        if state == "pending" or (state == "approved" and not yes):
            self.backend.decide(self.nonce[call], verdict)
            self.state[call] = verdict
        else:
            with pytest.raises(RefusedError) as refused:
                self.backend.decide(self.nonce[call], verdict)
            assert refused.value.cause == state

    @invariant()
    def nothing_is_used_twice(self) -> None:
        assert len(self.uses) == len(set(self.uses))


@pytest.mark.parametrize(("kind", "most"), [("files", 30), ("postgresql", 6)])
def test_the_model(kind: str, most: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    opened = made(kind, tmp_path, request)
    machine: Any = type("Machine", (StoreLaw,), {"backend": opened})
    bounds = settings(
        max_examples=examples(most), stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
    )
    try:
        run_state_machine_as_test(machine, settings=bounds)
    finally:
        opened.close()
