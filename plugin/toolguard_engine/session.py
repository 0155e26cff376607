"""One conversation with one gateway: messages in, answers out, and the records to write after the answer has left.

Still no I/O but the clock that is passed in; `serve` performs what this returns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from toolguard_engine import __version__, protocol
from toolguard_engine.config import Config, parse
from toolguard_engine.guard import Guard, Refusal
from toolguard_engine.model import Call
from toolguard_engine.stores.calllog import record
from toolguard_engine.texts import Hints

Clock = Callable[[], datetime]


@dataclass
class Tally:
    """What happened since the engine started."""

    judged: int = 0
    corrected: int = 0
    loops: int = 0
    stopped: int = 0


@dataclass
class Session:
    """Answers one gateway. What `take_records` and `seams` hold is written by the caller."""

    hints: Hints
    clock: Clock
    pid: int
    hello: protocol.Hello | None = None
    config: Config = field(default_factory=Config)
    config_error: str = ""
    tally: Tally = field(default_factory=Tally)
    seams: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._guard = Guard(self.config, self.hints)
        self._unmade: list[Callable[[], dict[str, Any]]] = []
        self._records: list[dict[str, Any]] = []

    @property
    def records(self) -> list[dict[str, Any]]:
        """The lines for the log. They are made here, not while a hook waits for its answer."""
        self._records += [make() for make in self._unmade]
        self._unmade.clear()
        return self._records

    def take_records(self) -> list[dict[str, Any]]:
        """The lines for the log, each once."""
        taken, self._records = self.records, []
        return taken

    def answer(self, message: protocol.Incoming) -> protocol.Wire | None:
        """The answer to one message; None for a note."""
        match message:
            case protocol.Hello():
                return self._hello(message)
            case protocol.Judge():
                return self._judge(message)
            case protocol.Failed():
                return self._failed(message)
            case protocol.Message():
                return self._message(message)
            case protocol.Done():
                self._guard.succeeded(_call(message))
            case protocol.RunEnd():
                self._guard.ended(message.run)
            case protocol.Seams():
                self.seams.update(message.seams)
            case protocol.Ping():
                return protocol.Pong(message.id)
        return None

    def _hello(self, message: protocol.Hello) -> protocol.Wire:
        if message.v != protocol.VERSION:
            reason = f"the gateway part speaks protocol {message.v}, this engine {protocol.VERSION}"
            return protocol.Error(message.id, f"{reason}; run `toolguard install` and restart the gateway")
        try:
            self.config, self.config_error = parse(message.config), ""
        except msgspec.ValidationError as error:
            self.config, self.config_error = Config(), f"plugins.entries.toolguard.config: {error}"
        self.hello = message
        self._guard = Guard(self.config, self.hints)
        return protocol.Ready(message.id, protocol.VERSION, self.pid, __version__, self.config_error)

    def _judge(self, message: protocol.Judge) -> protocol.Wire:
        self.tally.judged += 1
        verdict = self._guard.judge(_call(message))
        return protocol.VerdictAnswer(message.id, verdict.decision, verdict.code, verdict.text)

    def _failed(self, message: protocol.Failed) -> protocol.Wire:
        call = replace(_call(message), request=message.request)
        refusal = self._guard.failed(call, message.text, judged=message.judged, missed=message.missed)
        if refusal is None:
            return protocol.Corrected(message.id)
        shadow = self._record(refusal, message.provider, message.model)
        if shadow:
            return protocol.Corrected(message.id)
        correction = refusal.correction
        self.tally.corrected += 1
        self.tally.loops += correction.action == "loop-detected"
        self.tally.stopped += correction.action == "limit"
        return protocol.Corrected(
            message.id, correction.text, watch=True, stop=correction.stop.text if correction.stop else ""
        )

    def _message(self, message: protocol.Message) -> protocol.Wire:
        calls = [_message_call(message, item) for item in message.calls]
        refusals = self._guard.message(message.run, message.agent, calls)
        if not refusals:
            return protocol.Stopped(message.id)
        shadow = False
        for refusal in refusals:
            shadow = self._record(refusal, message.provider, message.model)
        if shadow:
            return protocol.Stopped(message.id)
        self.tally.stopped += 1
        return protocol.Stopped(message.id, refusals[0].correction.text)

    def _record(self, refusal: Refusal, provider: str, model: str) -> bool:
        """Puts one line aside for the log; whether the guard only watches (shadow mode)."""
        shadow = self._guard.config_for(refusal.call.agent).active_mode == "shadow"
        gateway = self.hello.gateway if self.hello else ""
        self._unmade.append(partial(record, refusal, self.clock(), gateway, provider, model, shadow=shadow))
        return shadow


def _call(message: protocol.Judge | protocol.Failed | protocol.Done) -> Call:
    return Call(
        tool=message.tool,
        params=message.params,
        agent=message.agent,
        session=message.session,
        run=message.run,
        call_id=message.call,
    )


def _message_call(message: protocol.Message, item: protocol.MessageCall) -> Call:
    return Call(
        tool=item.tool,
        params=item.params,
        agent=message.agent,
        session=message.session,
        run=message.run,
        call_id=item.call,
    )
