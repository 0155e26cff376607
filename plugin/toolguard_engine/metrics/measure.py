"""Metrics that the engine itself records for one gateway: model calls, calls that it allowed, malformed calls.

All other verdicts come from the audit log. Rows are made when they are taken, not while a hook waits for its answer; the
oldest rows that are not taken are dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from toolguard_engine.host.tool_search import is_envelope
from toolguard_engine.metrics.model_calls import ModelCalls
from toolguard_engine.metrics.row_writer import CallRecord as CallRow
from toolguard_engine.metrics.row_writer import VerdictRecord as VerdictRow
from toolguard_engine.model.call import Call, MalformedCall
from toolguard_engine.stores import audit_log
from toolguard_engine.wire.messages import ModelAnswer, ModelEnded
from toolguard_engine.wording import approval
from toolguard_engine.wording import correction as texts

MAX_UNMADE = 100_000
NOT_MALFORMED = frozenset({"not-executed", "held", "blocked"})
Allowed = tuple[float, str, str, str, str, str]
"""At (seconds since 1970), agent, session, run, tool, code."""


class Measure:
    def __init__(self) -> None:
        self._calls = ModelCalls()
        self._allowed: deque[Allowed] = deque(maxlen=MAX_UNMADE)
        self._malformed: deque[Callable[[], VerdictRow]] = deque(maxlen=MAX_UNMADE)

    def note(self, note: ModelEnded | ModelAnswer, now: float) -> None:
        if isinstance(note, ModelEnded):
            self._calls.ended(note, now)
        else:
            self._calls.answered(note, now)

    def run_ended(self, run: str) -> None:
        self._calls.run_ended(run)

    def allowed(self, call: Call, code: str) -> None:
        """A call that runs without having been held. For Tool Search it is the inner call."""
        if not is_envelope(call.tool, call.params):
            self._allowed.append((call.at, call.agent, call.session, call.run, call.tool, code))

    def malformed(self, refusal: MalformedCall, now: float) -> None:
        """A call that the gateway refused, with a correction for the model."""
        if refusal.failure.error not in NOT_MALFORMED:
            self._malformed.append(partial(_malformed, refusal, now))

    def take_calls(self, now: float) -> list[CallRow]:
        self._calls.due(now)
        return self._calls.take()

    def take_verdicts(self) -> list[VerdictRow]:
        allowed, malformed = list(self._allowed), list(self._malformed)
        self._allowed.clear()
        self._malformed.clear()
        return [_allowed(*row) for row in allowed] + [make() for make in malformed]


def _allowed(at: float, agent: str, session: str, run: str, tool: str, code: str) -> VerdictRow:
    return VerdictRow(
        at=_ms(at),
        agent=texts.name(agent),
        session=audit_log.plain(session),
        run=texts.name(run),
        tool=texts.name(tool),
        decision="allow",
        code=code,
        kind="allow",
    )


def _malformed(refusal: MalformedCall, now: float) -> VerdictRow:
    call, failure = refusal.call, refusal.failure
    problems = [f"{problem.path}: {'is missing' if problem.missing else problem.detail}" for problem in failure.problems[:4]]
    return VerdictRow(
        at=_ms(now),
        agent=texts.name(call.agent),
        session=audit_log.plain(call.session),
        run=texts.name(call.run),
        tool=texts.name(call.tool),
        decision="block",
        code=f"malformed.{failure.error}",
        reason=audit_log.plain("; ".join(problems)),
        kind="loop" if refusal.correction.action == "loop-detected" else "malformed",
        shown=approval.shown(call),
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
