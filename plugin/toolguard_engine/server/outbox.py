"""What is written after an answer has left: lines for the call log, the audit log, the gateway's log and the metrics."""

from __future__ import annotations

import math
import secrets
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine.metrics import row_writer as rows
from toolguard_engine.metrics.measure import Measure
from toolguard_engine.model.call import Call, MalformedCall, Verdict
from toolguard_engine.server.session_state import Clock
from toolguard_engine.stores import audit_log
from toolguard_engine.stores.call_log import record
from toolguard_engine.wire import messages
from toolguard_engine.wording import approval as approval_texts
from toolguard_engine.wording import correction as texts

MAX_WARNINGS = 100
MAX_REPORTED_RUNS = 1_000


class Outbox:
    """Keeps what is to be written until it is taken. `gateway`: the name of the gateway."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.gateway = ""
        self.measure: Measure | None = None
        self._reported: dict[tuple[str, str], None] = {}
        self._log: list[messages.Log] = []
        self._warned: set[str] = set()
        self._unmade: list[Callable[[], dict[str, Any]]] = []
        self._records: list[dict[str, Any]] = []
        self._events: list[Callable[[], audit_log.AuditEvent]] = []
        self._calls: list[rows.CallRecord] = []
        self.used: Callable[[list[rows.CallRecord]], list[rows.CallRecord]] = list
        """Gets the model calls that are over, each once, and prices them."""

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

    def take_events(self) -> list[audit_log.AuditEvent]:
        """The lines for the audit log that no store writes itself, each once."""
        taken, self._events = self._events, []
        return [event for make in taken if (event := self._made(make)) is not None]

    def _made(self, make: Callable[[], audit_log.AuditEvent]) -> audit_log.AuditEvent | None:
        """A line that cannot be made does not take the others with it."""
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - the guard goes on
            self.warn_once(f"a line of the audit log could not be created: {fault(error)}; please report this")
            return None

    def take_calls(self, *, last: bool = False) -> list[rows.CallRecord]:
        """Model calls that are over, for the metrics, each once. `last`: no more notes of any will come."""
        self.count_calls(last=last)
        taken, self._calls = self._calls, []
        return taken

    def count_calls(self, *, last: bool = False) -> None:
        """What model calls that are over have used counts from here on."""
        if self.measure and (over := self.measure.take_calls(math.inf if last else self._clock().timestamp())):
            self._calls += self.used(over)

    def take_verdicts(self) -> list[rows.VerdictRecord]:
        """What was let through or corrected, for the metrics, each once; the rest is in the audit log."""
        return self.measure.take_verdicts() if self.measure else []

    def measure_nothing(self) -> None:
        """Ends the metrics: they are not taken."""
        self.measure = None

    def measured(self, note: Callable[[Measure], None]) -> None:
        """Notes something for the metrics. A fault there changes no answer, and is logged once."""
        if self.measure is None:
            return
        try:
            note(self.measure)
        except Exception as error:  # noqa: BLE001 - the guard goes on
            self.warn_once(f"metrics: {fault(error)}; please report this")

    def take_log(self) -> list[messages.Log]:
        """Lines for the gateway's log, each once."""
        taken, self._log = self._log, []
        return taken

    def log(self, text: str) -> None:
        """A line for the gateway's log."""
        self._log.append(messages.Log("info", text))

    def warn_once(self, text: str) -> None:
        """A warning for the gateway's log, each text once."""
        if text not in self._warned and len(self._warned) < MAX_WARNINGS:
            self._warned.add(text)
            self._log.append(messages.Log("warn", text))

    def is_reported(self, run: str, code: str) -> bool:
        """Whether this code of a run was reported before; marks it as reported."""
        if (run, code) in self._reported:
            return True
        self._reported[run, code] = None
        if len(self._reported) > MAX_REPORTED_RUNS:
            del self._reported[next(iter(self._reported))]
        return False

    def refusal(self, refusal: MalformedCall, provider: str, model: str, *, shadow: bool) -> None:
        """A line for the call log."""
        self._unmade.append(partial(record, refusal, self._clock(), self.gateway, provider, model, shadow=shadow))

    def event(self, event: str, call: Call, verdict: Verdict, nonce: str = "", shown: str = "") -> None:
        """A line for the audit log. `shown`: the call, where it was shown before."""
        head = partial(_head, secrets.token_hex(8), self._clock().timestamp(), event, nonce, self.gateway)
        self._events.append(lambda: _audit_event(head(), call, verdict, shown or _shown(call)))

    def refused_by_gateway(self, call: Call, verdict: Verdict, shown: str) -> None:
        """A line for the audit log about a call that the gateway part refused. `shown`: the call as it showed it."""
        head = partial(_head, secrets.token_hex(8), self._clock().timestamp(), "block", "", self.gateway)
        self._events.append(lambda: _audit_event(head(), call, verdict, audit_log.plain(shown)))

    def decision(self, event: str, message: messages.PersonDecision, code: str, reason: str) -> None:
        """A line for the audit log about a decision that was made in chat."""
        line = audit_log.AuditEvent(
            id=secrets.token_hex(8),
            time=audit_log.when(self._clock().timestamp()),
            event=event,
            code=code,
            session=audit_log.plain(message.session),
            by=audit_log.plain(message.by),
            where=message.where,
            why=audit_log.plain(message.why),
            reason=reason,
            gateway=self.gateway,
        )
        self._events.append(lambda: line)


def _head(name: str, now: float, event: str, nonce: str, gateway: str) -> audit_log.AuditEvent:
    return audit_log.AuditEvent(id=name, time=audit_log.when(now), event=event, nonce=nonce, gateway=gateway)


def _audit_event(head: audit_log.AuditEvent, call: Call, verdict: Verdict, shown: str) -> audit_log.AuditEvent:
    return msgspec.structs.replace(
        head,
        code=verdict.code,
        tool=texts.name(call.tool),
        agent=texts.name(call.agent),
        session=audit_log.plain(call.session),
        run=texts.name(call.run),
        reason=audit_log.plain(verdict.reason),
        shown=shown,
    )


def _shown(call: Call) -> str:
    """The call for the audit log. Its line is there also where it cannot be shown."""
    if not call.tool:
        return ""
    try:
        return approval_texts.shown(call)
    except Exception as error:  # noqa: BLE001 - a bug there, or arguments that are nested too deeply
        return f"{texts.name(call.tool)}(cannot be shown: {type(error).__name__})"


def fault(error: Exception) -> str:
    """What a bug is called; its own words may quote what nobody should see."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}"
