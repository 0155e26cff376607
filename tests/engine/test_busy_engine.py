"""An engine that is busy says so from a second thread, and one that needs too much memory goes on."""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from engine_talk import PATIENCE, WORKING, ProcessTalk, talks
from toolguard_engine import __main__
from toolguard_engine.server import pipe as pipes
from toolguard_engine.server.pipe import DescriptorPipe
from toolguard_engine.stores.files.audit_log_file import AuditLog

HUNGRY = """
import sys
from toolguard_engine import __main__, guard
from toolguard_engine.layers import rubric
from toolguard_engine.wire import messages

place, name = {place}
before = getattr(place, name)

def hungry(*given, **more):
    if place is not messages or b"make" in given[0]:
        bytearray(2 << 30)
    return before(*given, **more)

setattr(place, name, hungry)
sys.exit(__main__.main())
"""


class Busy:
    """Both ends of the pipes of an engine."""

    def __init__(self) -> None:
        (source, self.into), (self.out, sink) = os.pipe(), os.pipe()
        self.pipe = DescriptorPipe(source, sink)
        self._rest = b""

    def line(self) -> bytes:
        while b"\n" not in self._rest:
            self._rest += os.read(self.out, 1 << 16)
        line, _, self._rest = self._rest.partition(b"\n")
        return line + b"\n"


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Busy:
    """Its pipes are not closed: the thread lives as long as its process does."""
    monkeypatch.setattr(pipes, "WORKING_SECONDS", 0.001)
    monkeypatch.setattr(pipes, "RESTS_AFTER", 3)
    return Busy()


def wait(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, "the condition never held"
        time.sleep(0.001)


def test_it_says_that_it_works_until_it_waits_again(busy: Busy) -> None:
    busy.pipe.watch()
    assert [busy.line(), busy.line()] == [WORKING] * 2
    loop = threading.Thread(target=busy.pipe.ready, args=(PATIENCE,))
    loop.start()
    wait(lambda: busy.pipe._rests is not None)  # it says no more, and looks no more
    os.set_blocking(busy.out, False)
    with suppress(BlockingIOError):
        assert {busy.line() for _ in range(PATIENCE * 1_000)} == set(), "it goes on"
    os.set_blocking(busy.out, True)
    os.write(busy.into, b"\n")
    loop.join(PATIENCE)
    assert busy.line() == WORKING


def test_what_it_says_is_never_inside_an_answer(busy: Busy) -> None:
    answer, end, has_spoken = b"x" * 300_000 + b"\n", b"end\n", threading.Event()

    def answers() -> None:
        for _ in range(20):
            busy.pipe.write(answer)
        has_spoken.wait(PATIENCE)
        busy.pipe.write(end)

    busy.pipe.watch()
    loop = threading.Thread(target=answers)
    loop.start()
    lines: set[bytes] = set()
    while end not in lines:
        lines.add(busy.line())
        if WORKING in lines:
            has_spoken.set()
    loop.join(PATIENCE)
    assert lines == {answer, WORKING, end}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], ProcessTalk]]:
    with ExitStack() as stack:
        yield lambda program: stack.enter_context(
            talks(lambda: ProcessTalk(tmp_path / "home", [sys.executable, "-W", "error", "-c", program]))
        )()


@pytest.mark.parametrize(
    ("place", "decision", "code"),
    [
        ('(rubric, "judge")', "hold", "rule.too-intricate"),
        ('(guard.Guard, "judge_reading")', "block", "guard.error"),
        ('(messages, "decode")', "block", "guard.unreadable"),
    ],
)
def test_a_call_that_needs_too_much_memory_gets_a_named_verdict(
    start: Callable[[str], ProcessTalk], tmp_path: Path, place: str, decision: str, code: str
) -> None:
    talk, state = start(HUNGRY.format(place=place)), tmp_path / "state"
    talk.hello(state)
    answer = talk.ask(id=1, type="judge", tool="exec", params={"command": "make all"}, agent="main", session="s", run="r")
    assert answer["decision"] == decision
    if sys.platform == "linux":  # no other system reveals it
        assert resource.prlimit(talk.process.pid, resource.RLIMIT_DATA)[0] == __main__.MEMORY
    assert talk.answer([], id=99, type="ping")["type"] == "pong"
    talk.end()
    assert code in [event.get("code") for event in AuditLog(state).events()]


def test_another_thread_keeps_the_loop_from_answering_for_a_moment_only(
    start: Callable[[str], ProcessTalk], tmp_path: Path
) -> None:
    """The standard output of an engine goes to its standard error."""
    talk = start("import sys\nfrom toolguard_engine import __main__\n__main__.main()\nprint(sys.getswitchinterval())")
    talk.hello(tmp_path / "state", {"metrics": {"enabled": False}})  # their thread asks for the same
    code, _, complaints = talk.end()
    assert code == 0
    assert float(complaints) == __main__.SWITCH_SECONDS
