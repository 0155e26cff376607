"""Eight real processes present the calls of all approvals, each of them all calls, while somebody kills them at random.

The gate races for 80 approvals, `TOOLGUARD_TEST_ALL=1` for 1,000 in four heats: what a change costs grows with the store,
and nobody has a thousand calls waiting.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from effort import ALL
from toolguard_engine.approvals.binding import bind_meaning
from toolguard_engine.approvals.call_meaning import VERSION, Meaning, MeantEffect
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.stores.files.audit_log_file import AuditLog, Verification
from toolguard_engine.stores.files.nonces import FileNonces
from toolguard_engine.stores.locked import Busy

HEATS, APPROVALS, KILLS = (4, 250, 30) if ALL else (1, 80, 8)
WORKERS = 8
KILL_EVERY = 0.12
DEADLINE = 600.0
ANSWER = re.compile(r"^(\d+) (\w+) ([0-9a-f]{8})$", re.MULTILINE)

fork = multiprocessing.get_context("fork")  # a worker that was killed is back within milliseconds


def request(number: int, now: float, *, repeated: bool = False) -> HeldCall:
    """The entry of a call. A third is of the old kind, without a meaning; another third means less when it is repeated."""
    call = f"{number:064x}"
    targets = range(1 if repeated and number % 3 == 2 else 2)
    effects = tuple(MeantEffect("delete", f"old-{at}", f"/work/old-{at}") for at in targets)
    meaning = Meaning(VERSION, call, "/work", effects) if number % 3 else None
    return HeldCall(
        nonce="", binding=bind_meaning(meaning) if meaning else call, meaning=meaning, tool="exec",
        agent="main", session=f"agent:main:{number % 10}",
        run=f"run-{number}",
        code="tool.exec", reason="exec asks a person", shown=f"git push origin {number}", created=now, expires=now + 3_600,
    )  # fmt: skip


def prepare(state: Path) -> list[HeldCall]:
    """All approvals, in two changes: entering them one by one is not what is raced for."""
    store, now = FileNonces(state), time.time()
    named = store._named
    held = store._change(lambda book: [book.enter(named(request(number, now), book)) for number in range(APPROVALS)], now)
    anna = Decision("anna", "cli")
    return store._change(lambda book: [book.approve(entry.nonce, anna, now, 3_600) for entry in held], now)


def work_through(state: Path, answers: Path, seed: int) -> None:
    """One worker. What it has had an answer for it does not ask again, also in its next life."""
    order = list(range(APPROVALS))
    random.Random(seed // 4).shuffle(order)  # noqa: S311 - four of them run side by side through the same calls
    done = {number for number, _, _ in read(answers)}
    store = FileNonces(state)
    with answers.open("a") as log:
        log.write("\n")  # what was half written in the life before
        for number in [number for number in order if number not in done]:
            log.write(f"{number} {answer(store, number)}\n")
            log.flush()


def answer(store: FileNonces, number: int) -> str:
    while True:
        now = time.time()
        try:
            presented = store.present(request(number, now, repeated=True), now)
        except Busy:
            continue
        return f"{presented.outcome} {presented.entry.nonce}"


def read(answers: Path) -> list[tuple[int, str, str]]:
    text = answers.read_text() if answers.exists() else ""
    return [(int(found[1]), found[2], found[3]) for found in ANSWER.finditer(text)]


class Crew:
    """The workers; whoever is killed is replaced."""

    def __init__(self, state: Path, folder: Path) -> None:
        self._state = state
        self._folder = folder
        self.processes = [self._start(seat) for seat in range(WORKERS)]

    def answers(self, seat: int) -> Path:
        return self._folder / f"answers-{seat}"

    def kill_one(self) -> bool:
        seat = random.randrange(WORKERS)  # noqa: S311
        if not self.processes[seat].is_alive():
            return False
        self.processes[seat].kill()
        self.processes[seat].join()
        self.processes[seat] = self._start(seat)
        return True

    def finish(self, until: float) -> list[int | None]:
        for process in self.processes:
            process.join(max(0.0, until - time.monotonic()))
        codes = [process.exitcode for process in self.processes]
        for process in self.processes:
            process.kill()
        return codes

    def _start(self, seat: int) -> BaseProcess:
        process = fork.Process(target=work_through, args=(self._state, self.answers(seat), seat), daemon=True)
        process.start()
        return process


def heard(crew: Crew) -> list[tuple[str, str]]:
    """All answers that reached somebody: outcome and nonce. A line that was cut off by a kill reached nobody."""
    return [(outcome, nonce) for seat in range(WORKERS) for _, outcome, nonce in read(crew.answers(seat))]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.mark.thorough
@pytest.mark.parametrize("heat", range(HEATS))
def test_each_approval_is_used_exactly_once(state: Path, tmp_path: Path, heat: int) -> None:
    approved = {entry.nonce for entry in prepare(state)}
    assert len(approved) == APPROVALS
    until = time.monotonic() + DEADLINE
    crew = Crew(state, tmp_path)
    kills = 0
    while kills < KILLS and any(process.is_alive() for process in crew.processes):
        time.sleep(KILL_EVERY * random.random() * 2)  # noqa: S311
        kills += crew.kill_one()
    assert crew.finish(until) == [0] * WORKERS
    assert kills > KILLS // 4

    store, log = FileNonces(state), AuditLog(state)
    store.sweep(time.time())
    log.close_torn_line()
    assert log.verify() == Verification(log.verify().lines, recovered=log.verify().recovered)
    status = {entry.nonce: entry.status for entry in store.entries()}
    assert {status[nonce] for nonce in approved} == {"used"}
    assert Counter(status.values()) == {"used": APPROVALS, "pending": APPROVALS}
    events = Counter((event["event"], event["nonce"]) for event in log.events() if event["event"] != "recovered")
    assert set(events.values()) == {1}
    assert {nonce for name, nonce in events if name == "consume"} == approved
    assert Counter(name for name, _ in events) == {"hold": 2 * APPROVALS, "approve": APPROVALS, "consume": APPROVALS}
    used = Counter(nonce for outcome, nonce in heard(crew) if outcome == "used")
    assert set(used.values()) == {1}
    assert set(used) <= approved
    assert len(used) >= APPROVALS - kills
    names = os.listdir(state / "toolguard")  # noqa: PTH208
    assert [name for name in names if "corrupt" in name] == []
    assert len([name for name in names if name.startswith(".")]) <= 2  # one of each file at most, swept by the next change
