"""Calls that wait for the store while anything else happens: in any order, on real files, with the clock in hand."""

from __future__ import annotations

import select
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from hypothesis.strategies import booleans, sampled_from

from engine_talk import PATIENCE, Talk
from toolguard_engine.approvals.ledger import OPEN, Decision
from toolguard_engine.server import records_step
from toolguard_engine.server.clock import SystemClock
from toolguard_engine.server.store_queue import ANSWER_SECONDS, AtOnce, StoreJob, StoreQueue, StoreThread, nothing
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.files.nonces import FileNonces

ANNA = Decision("anna", "cli")
COMMANDS = "abc"
NOTE = "note_down"
NOTES_OF_A_BUDGET = 2
CALLS = sampled_from(COMMANDS)
STRICT = {
    "alwaysBlock": ["exec"],
    "metrics": {"enabled": False},
    "budget": {"mode": "enforce", "toolRiskMap": {NOTE: "HIGH"}},
    "toolTrust": {"firstUse": "allow"},
}
LOOSE = {**STRICT, "alwaysBlock": []}
NO_C = '[[rule]]\nid = "no-c"\nrun = ["make c"]\nverdict = "block"\nreason = "Not on my watch."\n'


class Stepped(AtOnce):
    """A store that works when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[StoreJob[Any]] = []
        self.is_closed = False

    def submit(self, job: StoreJob[Any]) -> None:
        if self.is_closed:
            super().submit(job)
        else:
            self.jobs.append(job)

    def step(self, meanwhile: Callable[[], object] = nothing) -> None:
        """`meanwhile`: what happens between the work of the next job and its end."""
        if self.jobs:
            job = self.jobs.pop(0)
            job.work, work = lambda: (work(), meanwhile())[0], job.work
            super().submit(job)

    def finish(self) -> None:
        while self.jobs:
            self.step()

    def close(self, seconds: float) -> None:  # noqa: ARG002
        self.finish()
        self.is_closed = True


class Parked(RuleBasedStateMachine):
    """`yes`, `ran`: how often a person allowed a command, and it ran. `free`: notes that ran since the budget was full."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.state = Path(self.folder.name)
        self.people = FileNonces(self.state)
        self.question = 0
        self.open: dict[int, tuple[str, float]] = {}
        self.prompts: list[tuple[str, str]] = []
        self.yes: dict[str, int] = dict.fromkeys(COMMANDS, 0)
        self.ran: dict[str, int] = dict.fromkeys(COMMANDS, 0)
        self.free = self.used = 0
        self.is_killed = self.is_loose = self.is_c_blocked = self.is_exact = False
        self.start()
        self.is_exact = True

    def start(self, now: float = 0.0) -> None:
        self.worker = Stepped()
        self.talk = Talk(self.worker)
        self.talk.clock.pass_by(max(0.0, now - self.talk.clock.time()))
        self.introduce(STRICT)

    def introduce(self, config: dict[str, Any]) -> None:
        self.is_loose = config is LOOSE
        self.talk.send(id=0, type="hello", v=1, stateDir=str(self.state), gateway="gw", gatewayPid=5, config=config)
        self.settle()

    def settle(self) -> None:
        """Nothing but the store's work is left to do."""
        self.talk.later(0)
        self.count(self.talk.said())
        if not self.worker.jobs:  # whatever fills the budget has done so, and it holds no more than this
            self.free = max(self.free, 0)

    def count(self, answers: list[Any]) -> None:
        for said in answers:
            if said["type"] == "verdict" and said["id"] in self.open:
                call, _ = self.open.pop(said["id"])
                if said["decision"] == "allow":
                    self.it_ran(call, said["code"])
                elif "prompt" in said:
                    self.prompts.append((call, said["prompt"]["nonce"]))

    def it_ran(self, call: str, code: str) -> None:
        assert not self.is_killed
        assert not (call == "c" and self.is_c_blocked)
        approved = code == "approval.consumed"
        self.used += approved
        if call == NOTE:
            self.free = 0 if approved else self.free + 1
        elif approved or not self.is_loose:
            self.ran[call] += 1

    def ask(self, call: str, tool: str, params: dict[str, str], session: str, *, native: bool) -> None:
        self.question += 1
        self.open[self.question] = (call, self.talk.clock.monotonic() + ANSWER_SECONDS)
        place = {"run": f"r{self.question}", "session": session, "agent": "main"}
        self.talk.send(id=self.question, type="judge", tool=tool, params=params, native=native, **place)
        self.settle()

    @rule(call=CALLS, native=booleans())
    def ask_for_a_command(self, call: str, *, native: bool) -> None:
        self.ask(call, "exec", {"command": f"make {call}"}, "s", native=native)

    @rule(text=sampled_from("xy"), native=booleans())
    def ask_for_a_note(self, text: str, *, native: bool) -> None:
        self.ask(NOTE, NOTE, {"text": text}, "paid", native=native)

    @rule(jobs=sampled_from([1, 1, 3, 9]), late=booleans())
    def store_works(self, jobs: int, *, late: bool) -> None:
        for _ in range(jobs):
            self.worker.step(partial(self.time_passes, ANSWER_SECONDS) if late and jobs == 1 else nothing)
            self.settle()

    @rule(seconds=sampled_from([0.1, 0.7, ANSWER_SECONDS]))
    def time_passes(self, seconds: float) -> None:
        self.talk.later(seconds)
        self.settle()

    @rule(call=CALLS, says=sampled_from(["approve", "deny"]))
    def decide(self, call: str, says: str) -> None:
        now = self.talk.clock.time()
        for entry in self.people.entries():
            if f"make {call}" not in entry.shown or now >= entry.expires:
                continue
            if says == "approve" and entry.status == "pending":
                self.people.approve(entry.nonce, ANNA, now, 300)
                self.yes[call] += 1
            elif says == "deny" and entry.status in OPEN:
                self.people.deny(entry.nonce, ANNA, now, 5)
                self.yes[call] -= entry.status == "approved"

    @rule(outcome=sampled_from(["used", "denied", "expired", "unavailable"]))
    def prompt_is_answered(self, outcome: str) -> None:
        if not self.prompts:
            return
        call, nonce = self.prompts.pop()
        self.is_exact &= outcome != "used"
        if outcome == "used" and call == NOTE:
            self.free = -NOTES_OF_A_BUDGET  # the budget is full again once the store has worked
        elif outcome == "used":
            self.yes[call] += 1
            self.ran[call] += 1
        self.talk.send(id=10_000 + self.question, type="resolved", nonce=nonce, outcome=outcome, by="anna")
        self.settle()

    @rule()
    def checkpoint(self) -> None:
        self.free -= NOTES_OF_A_BUDGET  # full again once the store has worked; until then what is left of it counts
        self.talk.send(id=20_000, type="decide", action="checkpoint", where="chat", nonce="all", by="anna", session="paid")
        self.settle()

    @rule(call=CALLS, native=booleans())
    def ask_after_a_yes(self, call: str, *, native: bool) -> None:
        """The way to what is rare otherwise: an approval is about to be used up."""
        self.ask_for_a_command(call, native=False)
        self.store_works(9, late=False)
        self.decide(call, "approve")
        self.ask_for_a_command(call, native=native)

    @rule(what=sampled_from(["kill_switch", "policy", "reload", "restart"]), on=booleans())
    def change(self, what: str, *, on: bool) -> None:
        getattr(self, what)(on=on)

    def kill_switch(self, *, on: bool) -> None:
        KillSwitchFile(self.state).set(on=on, by="anna", why="")
        self.is_killed = on
        self.time_passes(0.2)

    def policy(self, *, on: bool) -> None:
        (self.state / "toolguard" / "policy.toml").write_text(NO_C if on else "")
        self.is_c_blocked = False
        self.time_passes(1.1)
        self.is_c_blocked = on

    def reload(self, *, on: bool) -> None:
        self.introduce(STRICT if on else LOOSE)

    def restart(self, *, on: bool) -> None:
        """`on`: the engine ends as the gateway wants it to, otherwise it is killed."""
        before = self.talk.clock.time()
        if on:
            self.count(self.talk.end())
            assert self.open == {}
        else:
            self.talk.kill()
            self.is_exact &= not self.worker.jobs
        self.open.clear()
        self.start(before)

    @rule()
    def run_ends(self) -> None:
        self.talk.send(type="run-end", run=f"r{self.question}", session="s")
        self.settle()

    @invariant()
    def nothing_runs_without_a_yes_nor_twice(self) -> None:
        assert all(self.ran[call] <= self.yes[call] for call in COMMANDS)

    @invariant()
    def no_more_is_spent_than_the_budget(self) -> None:
        assert self.free <= NOTES_OF_A_BUDGET

    @invariant()
    def every_question_is_answered_in_time(self) -> None:
        now = self.talk.clock.monotonic()
        assert all(now < due for _, due in self.open.values())

    def teardown(self) -> None:
        self.count(self.talk.end())
        events = [(event["event"], event["code"]) for event in AuditLog(self.state).events()]
        self.folder.cleanup()
        assert self.open == {}
        consumed = sum(event == "consume" for event, _ in events)
        assert not self.is_exact or consumed - events.count(("error", "approval.unused")) == self.used


CALL = {"tool": "exec", "params": {"command": "make a"}, "session": "s", "agent": "main"}


def asked(talk: Talk, run: str) -> list[Any]:
    talk.send(id=1, type="judge", run=run, **CALL)
    return [said["code"] for said in talk.said() if said["type"] == "verdict"]


@pytest.mark.parametrize("end", ["the store answers late", "the run ends", "the kill switch"])
def test_an_approval_of_a_call_that_did_not_run_is_there_for_the_next_engine(tmp_path: Path, end: str) -> None:
    worker, people = Stepped(), FileNonces(tmp_path)
    talk, switch = Talk(worker), KillSwitchFile(tmp_path)
    talk.hello(tmp_path, STRICT)
    asked(talk, "r1")
    worker.finish()
    talk.later(0)
    talk.said()
    (entry,) = people.entries()
    people.approve(entry.nonce, ANNA, talk.clock.time(), 300)
    assert asked(talk, "r2") == []
    if end == "the run ends":
        talk.send(type="run-end", run="r2", session="s")
    switch.set(on=end == "the kill switch", by="anna", why="")
    while worker.jobs:
        is_late = end == "the store answers late" and worker.jobs[0].seconds == ANSWER_SECONDS
        worker.step(partial(talk.later, ANSWER_SECONDS) if is_late else nothing)
        talk.later(0)
    assert "approval.consumed" not in [said.get("code") for said in talk.end()]
    switch.set(on=False, by="anna", why="")
    used, back = people.entries()
    assert (used.status, back.status, back.by, back.expires) == ("used", "approved", "anna", used.expires)
    after = Talk()
    after.hello(tmp_path, STRICT)
    assert [asked(after, run) for run in ("r3", "r4")] == [["approval.consumed"], ["approval.pending"]]
    after.kill()


def test_what_follows_from_the_last_job_is_done_before_an_engine_ends() -> None:
    queue = StoreQueue(StoreThread(), SystemClock(), lambda step: step())
    begun, over = threading.Event(), threading.Event()
    done: list[str] = []
    last = StoreJob(work=lambda: done.append("last"), done=nothing, failed=nothing)

    def work() -> None:
        begun.set()
        over.wait(PATIENCE)

    late = lambda _: queue.do(last)  # noqa: E731
    queue.do(StoreJob(work, done=nothing, failed=nothing, overdue=over.set, late=late, seconds=PATIENCE))
    assert begun.wait(PATIENCE)
    queue.close(PATIENCE)
    assert done == ["last"]


def test_the_lines_that_wait_for_a_store_that_hangs_are_bounded_and_what_is_dropped_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records_step, "MAX_UNSAVED", 5)
    worker = Stepped()
    talk = Talk(worker)
    talk.hello(tmp_path, {"mode": "enforce"})
    for number in range(20):  # the first line is in the store's hands, five wait
        talk.send(id=1, type="unjudged", code="call.too-deep", reason="x", tool=f"t{number}", summed=False)
    while worker.jobs:
        worker.step()
        talk.later(0)
    talk.end()
    events = [(event["event"], event.get("tool"), event["reason"]) for event in AuditLog(tmp_path).events()]
    assert [tool for event, tool, _ in events if event == "block"] == ["t0", "t15", "t16", "t17", "t18", "t19"]
    assert any(event == "error" and reason.startswith("14 lines") for event, _, reason in events)


def test_parked_calls_in_any_order() -> None:
    run_state_machine_as_test(Parked, settings=settings(max_examples=12, stateful_step_count=30, deadline=None))


@pytest.mark.thorough
def test_parked_calls_for_100_000_steps() -> None:
    run_state_machine_as_test(Parked, settings=settings(max_examples=2_000, stateful_step_count=50, deadline=None))


def test_a_thread_that_could_not_be_started_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    queue, done = StoreQueue(StoreThread(), SystemClock(), lambda step: step()), list[str]()
    monkeypatch.setattr(threading.Thread, "start", none_left)
    queue.do(StoreJob(lambda: "first", done=done.append, failed=nothing, seconds=PATIENCE))
    queue.settle()
    assert done == []
    monkeypatch.undo()
    queue.do(StoreJob(lambda: "second", done=done.append, failed=nothing, seconds=PATIENCE))
    while queue.is_busy:
        assert select.select([queue.fileno()], [], [], PATIENCE)[0]
        queue.drain()
        queue.settle()
    queue.close(PATIENCE)
    assert done == ["first", "second"]


def test_what_no_thread_could_do_is_done_before_an_engine_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    queue, done = StoreQueue(StoreThread(), SystemClock(), lambda step: step()), list[str]()
    queue.do(StoreJob(lambda: "last", done=done.append, failed=nothing))
    queue.close(PATIENCE)
    assert done == ["last"]
