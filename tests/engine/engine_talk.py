"""Conversations with an engine: in this process, on a clock that stands still until it is moved; or as a process."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolguard_engine.server import composition
from toolguard_engine.server.loop import Engine
from toolguard_engine.server.session import Session
from toolguard_engine.server.store_queue import AtOnce, Worker

PATIENCE = 120
"""Seconds until a process that should have ended is killed and the test fails. No test waits for it to pass."""


PATIENT = f"""
import sys
from functools import partial
from toolguard_engine import __main__
from toolguard_engine.server.engine_context import Intervals

__main__.engine = partial(__main__.engine, intervals=Intervals(answer={PATIENCE}))
"""
ENGINE = [sys.executable, "-W", "error", "-c", f"{PATIENT}sys.exit(__main__.main())"]
"""The engine process, but on a slow machine no call is blocked because its store does not answer in time."""

WORKING = b'{"type":"working"}\n'
"""A process says so whenever the machine is slow."""


class Waits(Exception):  # noqa: N818 - not a fault
    """The engine would sleep now."""


class StandingClock:
    """Moves only when `pass_by` says so. It begins now: files of the engine get their times from the machine."""

    def __init__(self) -> None:
        self._start = datetime.now(UTC)
        self._passed = self._worked = 0.0
        self.message_takes = 0.0
        """Seconds of processor time that each message takes."""

    def monotonic(self) -> float:
        return 1_000.0 + self._passed

    def worked(self) -> float:
        self._worked += self.message_takes
        return self._worked

    def time(self) -> float:
        return self._start.timestamp() + self._passed

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time(), UTC)

    def pass_by(self, seconds: float) -> None:
        self._passed += seconds


class HandedPipe:
    """Input from `incoming`; silence lasts for `silence` seconds of the clock, then the engine is left waiting."""

    def __init__(self, clock: StandingClock) -> None:
        self._clock = clock
        self.incoming: deque[bytes] = deque()
        self.has_ended = False
        self.is_read = True
        self.silence = 0.0
        self.said: deque[Any] = deque()

    def ready(self, seconds: float, other: int = -1) -> bool:  # noqa: ARG002
        if self.incoming or self.has_ended:
            return True
        passed = min(seconds, self.silence)
        self._clock.pass_by(passed)
        self.silence -= passed
        if passed < seconds:
            raise Waits
        return False

    def read(self) -> bytes:
        if not self.incoming and not self.has_ended:
            self._clock.pass_by(self.silence)
            self.silence = 0.0
            raise Waits
        return self.incoming.popleft() if self.incoming else b""

    def write(self, data: bytes) -> None:
        if not self.is_read:
            raise BrokenPipeError
        assert data.endswith(b"\n")
        self.said += [json.loads(line) for line in data.splitlines()]


class _Wire:
    """How one talks to an engine, wherever it runs."""

    def raw(self, data: bytes) -> None:
        raise NotImplementedError

    def read(self) -> Any:
        raise NotImplementedError

    def send(self, **message: Any) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def ask(self, **message: Any) -> Any:
        self.send(**message)
        return self.read()

    def answer(self, said: list[str], **message: Any) -> Any:
        """As `ask`; lines for the gateway's log go to `said`, and what wakes agents nowhere."""
        self.send(**message)
        while (answer := self.read())["type"] in ("log", "wake"):
            said += [answer["text"]] if answer["type"] == "log" else []
        return answer

    def hello(self, state: Path, config: Any = None, **more: Any) -> Any:
        place = {"stateDir": str(state), "gateway": "gw", "gatewayPid": 5, "host": "2026.9.6"}
        return self.ask(id=0, type="hello", v=1, config=config, **place, **more)

    def failed(self, question: int = 1, **more: Any) -> Any:
        text = 'Validation failed for tool "read":\n  - path: must have required properties path\n\nReceived arguments:\n{}'
        usual = {"id": question, "type": "failed", "tool": "read", "params": {}, "text": text, "run": "r"}
        return self.answer([], **usual | more)

    def assert_alive(self) -> None:
        assert self.ask(id=99, type="ping") == {"type": "pong", "id": 99}


class Talk(_Wire):
    """An engine in this process. What it says is there as soon as `send` or `later` returns."""

    def __init__(self, worker: Worker | None = None) -> None:
        self.clock = StandingClock()
        self.pipe = HandedPipe(self.clock)
        self.engine: Engine = composition.engine(self.pipe, self.clock, worker=worker or AtOnce())
        self.is_over = False

    def raw(self, data: bytes) -> None:
        self.pipe.incoming.append(data)
        self.later(0)

    def later(self, seconds: float) -> None:
        """So many seconds pass in which nobody says anything."""
        self.pipe.silence = float(seconds)
        with contextlib.suppress(Waits):
            while self.engine.turn():
                pass

    def read(self) -> Any:
        assert self.pipe.said, "nothing was said"
        return self.pipe.said.popleft()

    def said(self) -> list[Any]:
        """All that was said and not read yet."""
        said, self.pipe.said = list(self.pipe.said), deque()
        return said

    def end(self) -> list[Any]:
        """The input ends. What was still said."""
        self.is_over = self.pipe.has_ended = True
        self.engine.run()
        return self.said()

    def kill(self) -> None:
        """Nothing more of it happens; what it had open is closed, as the system does."""
        if not self.is_over:
            self.is_over = True
            self.engine.parts.records.close_standings()


class ProcessTalk(_Wire):
    """One engine process and its two pipes."""

    def __init__(self, home: Path, command: Sequence[str] = ENGINE) -> None:
        home.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "HOME": str(home), "PYTHONDEVMODE": "0"},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.into, self.out = self.process.stdin, self.process.stdout

    def raw(self, data: bytes) -> None:
        self.into.write(data)
        self.into.flush()

    def read(self) -> Any:
        line = WORKING
        while line == WORKING:
            line = self.out.readline()
        assert line.endswith(b"\n"), self.process.stderr.read() if self.process.stderr else b""
        return json.loads(line)

    def end(self) -> tuple[int, list[Any], str]:
        """Closes the input. The exit code, what was still said, and what it complained about."""
        with contextlib.suppress(BrokenPipeError):
            self.into.close()
        self.process.stdin = None
        out, err = self.process.communicate(timeout=PATIENCE)
        return (
            self.process.returncode,
            [json.loads(line) for line in out.splitlines() if line != WORKING.strip()],
            err.decode(),
        )

    def kill(self) -> None:
        """As `kill -9` does."""
        if self.process.poll() is None:
            self.process.kill()
        with contextlib.suppress(BrokenPipeError):
            self.into.close()
        self.process.stdin = None
        self.process.communicate(timeout=PATIENCE)


def answered(session: Session, message: Any) -> Any:
    """The answer of a session without a loop, also where a store was needed for it."""
    answer = session.answer(message)
    session.setup.queue.settle()
    return next((late for _, late in session.take_answers()), answer)


@contextlib.contextmanager
def talks(make: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """Makes conversations, and ends hard what is left of them."""
    made: list[Any] = []

    def start() -> Any:
        made.append(make())
        return made[-1]

    try:
        yield start
    finally:
        for each in made:
            each.kill()
