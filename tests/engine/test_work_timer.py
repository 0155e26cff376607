"""The limit of processor time: no loop escapes it, nothing but a reading is stopped, and a stopped reading stays stopped."""

from __future__ import annotations

import inspect
import itertools
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest

from effort import ALL
from engine_talk import Talk, talks
from test_run_files import WORK, guard
from toolguard_engine.effects.calls.kept_readings import KEPT
from toolguard_engine.layers import layer_order
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Call
from toolguard_engine.model.files import FileText, Unread
from toolguard_engine.model.work_allowance import FREE
from toolguard_engine.model.work_limit import MOST, TooIntricate, WorkLimit
from toolguard_engine.model.work_timer import SECONDS, WorkTimer
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.server import work_ticks
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.wire import messages

CALL = Call("exec", {"command": "ls"}, agent="main", session="s", run="r", cwd=WORK)


def timed(work: WorkLimit) -> WorkTimer:
    timer = WorkTimer()
    timer.reading = work
    return timer


def test_a_reading_is_stopped_when_its_time_is_over_and_at_each_tick_after_that() -> None:
    work = WorkLimit()
    timer = timed(work)
    timer.tick(7.0)
    timer.tick(7.0 + SECONDS)
    assert not work.is_stopped
    for late in (0.1, 0.2):
        with pytest.raises(TooIntricate):
            timer.tick(7.0 + SECONDS + late)
    timer.reading = None
    timer.tick(99.0)


def test_only_what_is_read_in_spare_time_gives_way() -> None:
    timer, work = WorkTimer(), WorkLimit()
    timer.is_awaited = lambda: True
    with pytest.raises(TooIntricate):
        timer.in_spare_time(work, lambda: timer.tick(0.0))
    assert work.is_stopped
    timer.limited(WorkLimit(), lambda: timer.tick(0.0))
    timer.is_awaited = lambda: False
    timer.in_spare_time(WorkLimit(), lambda: timer.tick(0.0))


def test_each_reading_has_its_own_time() -> None:
    timer = timed(WorkLimit())
    for second in range(9):
        timer.reading = WorkLimit()
        timer.tick(second)


def test_a_session_that_has_used_up_its_allowance_gets_less_time() -> None:
    timer = timed(WorkLimit(FREE))
    timer.tick(0.0)
    with pytest.raises(TooIntricate):
        timer.tick(SECONDS * FREE / MOST + 0.01)


def test_a_stopped_reading_has_no_steps_left_whatever_asks_for_more() -> None:
    work = WorkLimit()
    before = work.beside(MOST)
    work.stop()
    work.extend(MOST)
    work.admit(MOST)
    work.reserve()
    for each in (work, before, work.beside(MOST), before.beside(MOST)):
        with pytest.raises(TooIntricate):
            each.spend(0.1)


def endless() -> NoReturn:
    while True:
        pass


def in_a_pattern() -> NoReturn:
    re.match(r"(a|aa)+$", "a" * 60 + "b")
    raise AssertionError


@pytest.fixture
def ticking() -> Iterator[WorkTimer]:
    before = signal.getsignal(signal.SIGPROF)
    timer = WorkTimer()
    work_ticks.start(timer)
    try:
        yield timer
    finally:
        work_ticks.stop()
        signal.signal(signal.SIGPROF, before)


def late_at(number: int, command: str) -> tuple[str, bool, int]:
    """The decision if the time of the reading is over when this function of the engine is called; whether that interrupted
    it; and how many calls there were."""
    KEPT.clear()
    one = guard({"f.sh": "ls -la\ncat a | wc -l\n"})[0]
    count, is_interrupted = 0, False

    def trace(frame: FrameType, event: str, _: object) -> None:
        nonlocal count, is_interrupted
        code = frame.f_code
        if event == "call" and "toolguard_engine" in code.co_filename and not code.co_flags & inspect.CO_GENERATOR:
            count += 1
            if count == number:
                sys.settrace(None)
                one.timer.tick(0.0)
                is_interrupted = True
                one.timer.tick(1e9)
                is_interrupted = False  # no reading was under way

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        verdict = one.judge(Call("exec", {"command": command}, agent="main", session="s", run="r", cwd=WORK))
    finally:
        sys.settrace(before)
    assert one.timer.reading is None
    return verdict.decision, is_interrupted, count


@pytest.mark.parametrize(
    "command", ["ls -la; cd a && git status | head -3", "sh f.sh", "python3 -c 'import os; os.listdir()'"]
)
def test_a_reading_whose_time_is_over_anywhere_has_a_verdict_and_is_held(command: str) -> None:
    assert late_at(0, command)[0] == "allow"
    _, _, calls = late_at(0, command)  # what is compiled on first use is there now
    points = random.Random(command).sample(range(1, calls + 1), k=min(calls, 300 if ALL else 60))  # noqa: S311
    found = {(interrupted, decision) for decision, interrupted, _ in (late_at(at, command) for at in points)}
    assert found <= {(True, "hold"), (False, "allow")}
    assert (True, "hold") in found


class Slow:
    """A layer that takes for ever the first time that it is asked."""

    def __init__(self, loop: Callable[[], object]) -> None:
        self.loop = loop
        self.asked = 0

    def judge(self, given: LayerInput, found: Judgement) -> Judgement | None:  # noqa: ARG002
        self.asked += 1
        if self.asked == 1:
            self.loop()
        return None


@pytest.mark.parametrize("loop", [endless, in_a_pattern])
def test_a_call_with_an_endless_loop_is_held_and_the_next_one_is_judged(
    loop: Callable[[], object], ticking: WorkTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolguard_engine.model.work_timer.SECONDS", 0.05)
    monkeypatch.setattr(layer_order, "LAYERS", (Slow(loop), *layer_order.LAYERS))
    one = guard({})[0]
    one.timer = ticking
    verdict = one.judge(CALL)
    assert (verdict.decision, verdict.code) == ("hold", "rule.too-intricate")
    assert one.allowance.most(CALL) == FREE
    assert one.judge(CALL).decision == "allow"
    assert ticking.reading is None


def test_commands_that_a_call_types_have_no_time_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    one, clock = guard({})[0], itertools.count(0.0, SECONDS * 0.6)

    class Typing:
        def judge(self, given: LayerInput, found: Judgement) -> Judgement | None:  # noqa: ARG002
            if given.is_typed:
                one.timer.tick(next(clock))
            else:
                for _ in range(3):
                    given.judge_command(one.read(CALL))
            return None

    monkeypatch.setattr(layer_order, "LAYERS", (Typing(), *layer_order.LAYERS))
    assert one.judge(CALL).code == "rule.too-intricate"
    assert one.timer.reading is None


def test_what_swallows_the_failure_is_stopped_again(ticking: WorkTimer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolguard_engine.model.work_timer.SECONDS", 0.05)
    raised = 0

    def loop() -> None:
        nonlocal raised
        for _ in range(3):
            try:
                endless()
            except TooIntricate:
                raised += 1

    monkeypatch.setattr(layer_order, "LAYERS", (Slow(loop), *layer_order.LAYERS))
    one = guard({})[0]
    one.timer = ticking
    assert one.judge(CALL).code == "rule.too-intricate"
    assert raised == 3


def test_nothing_is_stopped_outside_of_a_reading(ticking: WorkTimer) -> None:
    end = time.thread_time() + 5 * work_ticks.EVERY
    while time.thread_time() < end:
        pass
    assert ticking.reading is None


def test_reading_a_file_is_not_interrupted() -> None:
    """The answer of its thread would be taken for that of the next one."""
    timer = timed(WorkLimit())
    seen: list[WorkLimit | None] = []

    def look(path: str) -> FileText | Unread:
        seen.append(timer.reading)
        return Unread("absent" if path else "binary")

    reader = FileReader(look, timer=timer)
    work = timer.reading
    assert [reader.read(path) for path in ("", "a")] == [Unread("binary"), Unread("absent")]
    assert seen == [None, None]
    assert timer.reading is work


def test_the_engine_hands_its_timer_to_every_guard(tmp_path: Path) -> None:
    with talks(Talk) as start:
        talk = start()
        timer = talk.engine.session.setup.timer
        talk.hello(tmp_path)
        assert timer is not None
        assert talk.engine.session.guard.timer is timer


def test_an_approved_call_is_stopped_as_well_when_it_is_read_again(
    ticking: WorkTimer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolguard_engine.model.work_timer.SECONDS", 0.05)
    with talks(Talk) as start:
        talk = start()
        talk.hello(tmp_path)
        session = talk.engine.session
        session.guard.timer = ticking
        monkeypatch.setattr(session.files, "begins", lambda *_, **__: endless())
        answer = session._verdicts.let_run(1, CALL, "approval.used")
    assert isinstance(answer, messages.VerdictAnswer)
    assert answer.decision == "allow"
    assert ticking.reading is None
