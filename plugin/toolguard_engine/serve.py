"""The shell around the core: reads lines from the gateway part, writes answers, then the records.

Answers leave before anything is written to disk. The engine ends when its input ends, and so with its gateway, however
that one died. No line can end it: what cannot be read is answered with an error, and a bug in a decision is answered
with an error that the gateway part turns into the verdict of the fail mode.
"""

from __future__ import annotations

import os
import select
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

from toolguard_engine import __version__, hints, protocol
from toolguard_engine.lines import Lines
from toolguard_engine.session import Session
from toolguard_engine.stores import calllog, engines

CHUNK = 1 << 18
PUBLISH_EVERY = 1.0
"""Seconds between two writes of the engine's own file, while there is news."""


class Engine:
    """One engine process. `run` returns when the input ends."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._lines = Lines(protocol.MAX_LINE)
        self._session = Session(hints.load(), lambda: datetime.now(UTC), os.getpid())
        self._started = time.time()
        self._log: calllog.CallLog | None = None
        self._log_error = ""
        self._publish_error = ""
        self._published = 0.0
        self._news = False

    def run(self) -> None:
        try:
            while data := self._read():
                for line, too_long in self._lines.feed(data):
                    self._answer(line, too_long=too_long)
                self._write_records()
                self._publish_when_due()
        except BrokenPipeError:
            pass  # the gateway is gone, and nobody is left to tell
        finally:
            self._leave()

    def _read(self) -> bytes:
        """The next bytes; writes the engine's file when it is due and nothing else is to do."""
        while self._news:
            wait = max(0.0, self._published + PUBLISH_EVERY - time.monotonic())
            if select.select([self._source], [], [], wait)[0]:
                break
            self._publish()
        return os.read(self._source, CHUNK)

    def _answer(self, line: bytes, *, too_long: bool) -> None:
        if not line.strip():
            return
        answer = self._decide(line, too_long=too_long)
        if answer is not None:
            self._send(answer)

    def _decide(self, line: bytes, *, too_long: bool) -> protocol.Wire | None:
        if too_long:
            return protocol.Error(protocol.leading_id(line), f"a line of more than {protocol.MAX_LINE} bytes")
        try:
            message = protocol.decode(line)
        except protocol.ProtocolError as error:
            return protocol.Error(error.id, str(error))
        try:
            answer = self._session.answer(message)
        except Exception as error:  # noqa: BLE001 - a bug must become an answer, or the call would hang
            return self._failed(message, error)
        if isinstance(answer, protocol.Ready):
            self._begin()
        self._news = True
        return answer

    def _failed(self, message: protocol.Incoming, error: Exception) -> protocol.Wire:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}"
        self._send(protocol.Log("error", f"the engine could not decide: {reason}; please report this"))
        return protocol.Error(getattr(message, "id", None), reason)

    def _send(self, message: protocol.Wire) -> None:
        data = memoryview(protocol.encode(message))
        while data:
            data = data[os.write(self._sink, data) :]

    def _begin(self) -> None:
        """The gateway has introduced itself: now it is known where things are."""
        self._log = calllog.CallLog(calllog.resolve(self._session.config.log_path, self._state_dir))
        self._log_error = self._publish_error = ""
        self._published = 0.0

    @property
    def _state_dir(self) -> Path:
        assert self._session.hello is not None  # noqa: S101 - only used after hello
        return Path(self._session.hello.state_dir)

    def _write_records(self) -> None:
        records = self._session.take_records()
        if self._log is None:
            return
        for line in records:
            if news := self._log.append(line):
                self._log_error = news
                self._send(protocol.Log("warn", f"{news}; malformed calls are not logged"))

    def _publish_when_due(self) -> None:
        if self._news and time.monotonic() - self._published >= PUBLISH_EVERY:
            self._publish()

    def _publish(self) -> None:
        self._news = False
        hello, config, tally = self._session.hello, self._session.config, self._session.tally
        if hello is None:
            return
        first = self._published == 0.0
        self._published = time.monotonic()
        try:
            if first:
                engines.sweep(self._state_dir)
            engines.publish(
                self._state_dir,
                engines.EngineInfo(
                    pid=self._session.pid,
                    gateway_pid=hello.gateway_pid,
                    gateway=hello.gateway,
                    host=hello.host,
                    version=__version__,
                    plugin=hello.plugin,
                    started=self._started,
                    mode=config.active_mode,
                    log_path=str(calllog.resolve(config.log_path, self._state_dir)),
                    config_error=self._session.config_error,
                    log_error=self._log_error,
                    judged=tally.judged,
                    corrected=tally.corrected,
                    loops=tally.loops,
                    stopped=tally.stopped,
                    seams=self._session.seams,
                ),
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            reason = f"cannot write below {self._state_dir}: {getattr(error, 'strerror', None) or error}"
            if reason != self._publish_error:
                self._send(protocol.Log("warn", reason))
            self._publish_error = reason
        else:
            self._publish_error = ""

    def _leave(self) -> None:
        if self._session.hello is None:
            return
        try:
            self._publish()
            engines.retire(self._state_dir, self._session.pid)
        except (OSError, ValueError):
            pass  # the state directory went away before the gateway did
