"""The engine's end of the pipe to its courier: starts it, asks it, passes its news on, and starts it again when it ends.

One thread reads the pipe. Whoever asks waits for no longer than the deadline of the question; a question that is open when
the courier ends is asked again of the next one. The courier ends when its standard input does, and so with the engine.
"""

from __future__ import annotations

import io
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from toolguard_engine.stores import decode_first
from toolguard_engine.stores.fleet import pipe_messages as messages
from toolguard_engine.stores.locked import Busy

COMMAND = (sys.executable, "-P", "-E", "-m", "toolguard_fleet")
"""-P and -E: as the gateway part starts the engine."""

FIRST_DELAY, MAX_DELAY = 0.2, 15.0
HEALTHY_SECONDS = 5.0
"""A courier that ran for so long is started again without delay."""

START_SECONDS, MAX_START_SECONDS = 10.0, 160.0
"""How long a courier may take to say its first word; twice as long after each that took longer."""

MARGIN = 0.1
"""Seconds that an answer of the courier may take on its way."""

MAX_SILENCES = 2
"""Unanswered questions after which a courier that has started is ended: it answers each one, if only that the database does
not."""


class FleetAwayError(Busy):
    """The fleet's database did not answer in time. It may soon."""

    code = "approval.away"


class FleetRefusedError(Busy):
    """The fleet's database answered that it does nothing for this gateway, now."""

    code = "approval.away"


class _Open(Struct, eq=False):
    """A question that waits for its answer."""

    line: bytes
    answered: threading.Event = field(default_factory=threading.Event)
    answer: messages.Answer | None = None


class CourierLink:
    """`news` is called in the thread of the link, and must not wait."""

    def __init__(
        self, begin: messages.Begin, news: Callable[[messages.News], None], command: Sequence[str] = COMMAND
    ) -> None:
        self._begin = msgspec.json.encode(begin) + b"\n"
        self._news = news
        self._command = command
        self._ids = count(1)
        self._open: dict[int, _Open] = {}
        self._waiting: tuple[str, ...] = ()
        self._writing = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._silences = 0
        self._begun = 0.0
        self._has_spoken = False
        self._may_start = START_SECONDS
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        decode_first.read_stored()
        self._thread = threading.Thread(target=self._run, name="fleet", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def ask(self, make: Callable[[int, float], messages.Question], seconds: float) -> messages.Answer:
        """`make` gets the id of the question and its time. Raises `FleetAwayError`, `FleetRefusedError`."""
        until = time.monotonic() + seconds
        question = make(next(self._ids), max(seconds - MARGIN, MARGIN))
        asked = self._open[question.id] = _Open(msgspec.json.encode(question) + b"\n")
        try:
            self._write(asked.line, until)
            asked.answered.wait(max(0.0, until - time.monotonic()))
        finally:
            del self._open[question.id]
        if asked.answer is None:
            self._note_silence()
            raise FleetAwayError(f"the fleet's database did not answer within {seconds:g} s; repeat the call later")
        self._silences = 0
        if isinstance(asked.answer, messages.AwayAnswer):
            raise error_of(asked.answer)
        return asked.answer

    def wait_for(self, nonces: tuple[str, ...]) -> None:
        """News about these calls are wanted."""
        if nonces != self._waiting:
            self._waiting = nonces
            self._write(msgspec.json.encode(messages.Waiting(nonces)) + b"\n", time.monotonic() + MARGIN)

    def close(self, seconds: float = 1.0) -> None:
        """Ends the courier, by force after `seconds`."""
        self._ended.set()
        process = self._process
        if process is None:
            return
        with self._writing, suppress(OSError):
            if process.stdin:
                process.stdin.close()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _note_silence(self) -> None:
        self._silences += 1
        process = self._process
        if process is None or self._silences < MAX_SILENCES:
            return
        if not self._has_spoken:
            if time.monotonic() - self._begun < self._may_start:
                return
            self._may_start = min(2 * self._may_start, MAX_START_SECONDS)
        self._silences = 0
        process.kill()

    def _run(self) -> None:
        delay = 0.0
        while not self._ended.wait(delay):
            begun = time.monotonic()
            try:
                self._serve()
            except Exception as error:  # noqa: BLE001 - without this thread no held call is ever answered again
                self._news(messages.FleetStatus(error=f"the courier cannot be started: {error}"))
            healthy = time.monotonic() - begun > HEALTHY_SECONDS
            delay = FIRST_DELAY if healthy or not delay else min(2 * delay, MAX_DELAY)

    def _serve(self) -> None:
        """One courier, from its start to its end."""
        process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/", bufsize=0
        )
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        os.set_blocking(process.stdin.fileno(), False)
        with self._writing:
            self._process, self._has_spoken, self._begun = process, False, time.monotonic()
            again = b"".join(asked.line for asked in list(self._open.values()))
            waiting = msgspec.json.encode(messages.Waiting(self._waiting)) + b"\n"
            _write_all(process, self._begin + waiting + again, time.monotonic() + self._may_start)
        if self._ended.is_set():
            process.kill()
        try:
            with io.BufferedReader(cast("io.RawIOBase", process.stdout)) as output:
                self._read(output)
        finally:
            with self._writing:
                self._process = None
                process.stdin.close()
            process.kill()
            process.wait()

    def _read(self, output: io.BufferedReader[Any]) -> None:
        decoder = msgspec.json.Decoder(messages.FromCourier)
        while (line := output.readline(messages.MAX_LINE + 1)).endswith(b"\n"):  # a longer one is the end of this courier
            if line.strip():
                try:
                    self._take(decoder.decode(line))
                except (msgspec.DecodeError, UnicodeDecodeError):
                    return  # another version, after an upgrade: a new courier may speak as we do

    def _take(self, message: messages.FromCourier) -> None:
        if not self._has_spoken:
            self._has_spoken, self._may_start, self._silences = True, START_SECONDS, 0
        if isinstance(message, messages.HoldDecided | messages.FleetStatus):
            self._news(message)
        elif asked := self._open.get(message.id):
            asked.answer = message
            asked.answered.set()

    def _write(self, data: bytes, until: float) -> None:
        with self._writing:
            if self._process is not None:  # else the next courier gets it
                _write_all(self._process, data, until)


UNKNOWN = "unknown gateway or wrong token"
JOIN_AGAIN = "on the gateway, run toolguard fleet join --new-identity"


def error_of(answer: messages.AwayAnswer) -> FleetAwayError | FleetRefusedError:
    kind = FleetRefusedError if answer.is_refusal else FleetAwayError
    return kind(f"{answer.why}; {JOIN_AGAIN if UNKNOWN in answer.why else 'repeat the call later'}")


def _write_all(process: subprocess.Popen[bytes], data: bytes, until: float) -> None:
    """What cannot be written in time ends the courier: the rest of a line would be no line."""
    if process.stdin is None or process.stdin.closed:
        return
    handle, left = process.stdin.fileno(), memoryview(data)
    with suppress(OSError):  # it has just ended
        while left:
            _, writable, _ = select.select([], [handle], [], max(0.0, until - time.monotonic()))
            if not writable:
                process.kill()
                return
            with suppress(BlockingIOError):
                left = left[os.write(handle, left) :]
