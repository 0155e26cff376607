"""Calls that wait for the store while anything else happens: in any order, on real files, with the clock in hand."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from hypothesis.strategies import sampled_from

from engine_talk import Talk
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.server.store_queue import ANSWER_SECONDS, AtOnce, StoreJob
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.files.nonces import FileNonces

ANNA = Decision("anna", "cli")
CALLS = sampled_from("abc")


class Stepped(AtOnce):
    """A store that works when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[StoreJob[Any]] = []

    def submit(self, job: StoreJob[Any]) -> None:
        self.jobs.append(job)

    def step(self) -> None:
        if self.jobs:
            super().submit(self.jobs.pop(0))

    def close(self, seconds: float) -> None:  # noqa: ARG002
        while self.jobs:
            self.step()


class Parked(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.state = Path(self.folder.name)
        self.worker = Stepped()
        self.talk = Talk(self.worker)
        self.people = FileNonces(self.state)
        self.question = 0
        self.open: dict[int, tuple[str, float]] = {}
        self.yes: dict[str, int] = dict.fromkeys("abc", 0)
        self.ran: dict[str, int] = dict.fromkeys("abc", 0)
        self.talk.hello(self.state, {"alwaysBlock": ["exec"], "metrics": {"enabled": False}})
        self.settle()

    def settle(self) -> None:
        """Nothing but the store's work is left to do."""
        self.talk.later(0)
        self.count(self.talk.said())

    def count(self, answers: list[Any]) -> None:
        for said in answers:
            if said["type"] == "verdict" and said["id"] in self.open:
                call, _ = self.open.pop(said["id"])
                self.ran[call] += said["decision"] == "allow"

    @rule(call=CALLS)
    def ask(self, call: str) -> None:
        self.question += 1
        self.open[self.question] = (call, self.talk.clock.monotonic() + ANSWER_SECONDS)
        self.talk.send(
            id=self.question,
            type="judge",
            tool="exec",
            params={"command": f"make {call}"},
            run=f"r{self.question}",
            session="s",
        )
        self.settle()

    @rule()
    def store_works(self) -> None:
        self.worker.step()
        self.settle()

    @rule(seconds=sampled_from([0.1, 0.7, ANSWER_SECONDS]))
    def time_passes(self, seconds: float) -> None:
        self.talk.later(seconds)
        self.settle()

    @rule(call=CALLS, says=sampled_from(["approve", "deny"]))
    def decide(self, call: str, says: str) -> None:
        now = self.talk.clock.time()
        for entry in self.people.entries():
            if entry.status == "pending" and f"make {call}" in entry.shown:
                if says == "approve":
                    self.people.approve(entry.nonce, ANNA, now, 300)
                    self.yes[call] += 1
                else:
                    self.people.deny(entry.nonce, ANNA, now, 5)

    @rule(on=sampled_from([True, False]))
    def kill_switch(self, *, on: bool) -> None:
        KillSwitchFile(self.state).set(on=on, by="anna", why="")

    @rule()
    def run_ends(self) -> None:
        self.talk.send(type="run-end", run=f"r{self.question}", session="s")
        self.settle()

    @invariant()
    def nothing_runs_without_a_yes_nor_twice(self) -> None:
        assert all(self.ran[call] <= self.yes[call] for call in "abc")

    @invariant()
    def every_question_is_answered_in_time(self) -> None:
        now = self.talk.clock.monotonic()
        assert all(now < due for _, due in self.open.values())

    def teardown(self) -> None:
        self.count(self.talk.end())
        self.folder.cleanup()
        assert self.open == {}


def test_parked_calls_in_any_order() -> None:
    run_state_machine_as_test(Parked, settings=settings(max_examples=25, stateful_step_count=30, deadline=None))


@pytest.mark.thorough
def test_parked_calls_for_100_000_steps() -> None:
    run_state_machine_as_test(Parked, settings=settings(max_examples=2_000, stateful_step_count=50, deadline=None))
