"""`audit.durable`: a block is answered once its line is on the disk, or after the time that a store has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_talk import Talk, talks
from toolguard_engine.server import records_step
from toolguard_engine.server.store_queue import ANSWER_SECONDS, StoreJob
from toolguard_engine.stores.files.audit_log_file import AuditLog

CALL = {"type": "judge", "tool": "exec", "agent": "main", "session": "s", "run": "r"}
BLOCKED = {**CALL, "params": {"command": "toolguard approve 3fa9c1d2"}}
DURABLE = {"audit": {"durable": True}}


class ByHand:
    """A worker that runs its jobs when it is told to."""

    def __init__(self) -> None:
        self.jobs: list[StoreJob[Any]] = []
        self.finished: list[StoreJob[Any]] = []
        self.hangs = False

    def submit(self, job: StoreJob[Any]) -> None:
        self.jobs.append(job)

    def run(self) -> None:
        jobs, self.jobs = self.jobs, []
        for job in jobs:
            job.run()
        self.finished += jobs

    def take(self) -> list[StoreJob[Any]]:
        taken, self.finished = self.finished, []
        return taken

    def fileno(self) -> int:
        return -1

    def drain(self) -> None: ...

    def close(self, seconds: float) -> None:  # noqa: ARG002
        if not self.hangs:
            self.run()


@pytest.fixture
def worker() -> ByHand:
    return ByHand()


@pytest.fixture
def talk(worker: ByHand, tmp_path: Path) -> Iterator[Talk]:
    with talks(lambda: Talk(worker)) as make:
        started = make()
        started.hello(tmp_path, DURABLE)
        worker.run()
        started.later(0)
        started.said()
        yield started


def blocked(tmp_path: Path) -> int:
    return sum(line["event"] == "block" for line in AuditLog(tmp_path).events())


def verdicts(talk: Talk) -> list[str]:
    return [each["decision"] for each in talk.said() if each["type"] == "verdict"]


def test_a_block_waits_for_its_line(talk: Talk, worker: ByHand, tmp_path: Path) -> None:
    talk.send(id=1, **BLOCKED)
    assert (verdicts(talk), blocked(tmp_path)) == ([], 0)
    worker.run()
    talk.later(0)
    assert (verdicts(talk), blocked(tmp_path)) == (["block"], 1)


def test_what_may_run_does_not_wait(talk: Talk) -> None:
    talk.send(id=1, params={"command": "ls"}, **CALL)
    assert verdicts(talk) == ["allow"]


def test_no_longer_than_a_store_has(talk: Talk, worker: ByHand, tmp_path: Path) -> None:
    """The line is written all the same, once."""
    talk.send(id=1, **BLOCKED)
    talk.later(ANSWER_SECONDS + 0.1)
    assert (verdicts(talk), blocked(tmp_path)) == (["block"], 0)
    worker.run()
    talk.later(0)
    assert (verdicts(talk), blocked(tmp_path)) == ([], 1)


def test_a_log_that_cannot_be_written(talk: Talk, worker: ByHand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block is answered, and its line is written when it can be."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(AuditLog, "append", full)
        talk.send(id=1, **BLOCKED)
        worker.run()
        talk.later(0)
        assert verdicts(talk) == ["block"]
    for _ in range(2):  # what was begun while it could not be written fails as well
        worker.run()
        talk.later(120)
    worker.run()
    assert blocked(tmp_path) == 1


def test_the_end_of_the_input_loses_neither(talk: Talk, tmp_path: Path) -> None:
    talk.send(id=1, **BLOCKED)
    assert "block" in [each.get("decision") for each in talk.end()]
    assert blocked(tmp_path) == 1


def test_a_store_that_hangs_until_the_end_loses_no_line(talk: Talk, worker: ByHand, tmp_path: Path) -> None:
    """What it writes when it goes on is there already."""
    worker.hangs = True
    for number in range(3):
        talk.send(id=number, **BLOCKED)
    assert [each.get("decision") for each in talk.end()].count("block") == 3
    assert blocked(tmp_path) == 3
    worker.run()
    assert blocked(tmp_path) == 3


def test_what_waits_for_a_store_that_hangs_is_bounded(
    talk: Talk, worker: ByHand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks beyond the bound are answered at once, and their lines wait with those that are written again."""
    monkeypatch.setattr(records_step, "MAX_UNSAVED", 2)
    worker.hangs = True
    for number in range(4):
        talk.send(id=number, **BLOCKED)
    assert verdicts(talk) == ["block", "block"]
    talk.end()
    assert blocked(tmp_path) == 4
