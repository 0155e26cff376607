"""Calls of one tool that keep failing with one and the same error, whatever their arguments.

`identical_errors` ends the run early where the same call fails, or where the error names what it failed on. An error that
names nothing, such as `exit code 1` or `exec denied`, says less: different commands may fail with it for different reasons.
So it takes `warningThreshold` such failures for a note, and `globalCircuitBreakerThreshold` for the end of the run.

These do not count: a failure that may pass by itself; the same call again, which may be waiting for something; and more than
one call of a message. The counts start again after a call that succeeded with a result that it did not have lately.
"""

from __future__ import annotations

import msgspec

from toolguard_engine.config.settings import LoopDetection
from toolguard_engine.effects.calls.call_digest import call_digest, tool_digest
from toolguard_engine.effects.calls.outcomes import Outcome
from toolguard_engine.layers.repetition.identical_errors import CODE, count_again
from toolguard_engine.layers.repetition.loop_counters import LoopCounters
from toolguard_engine.layers.repetition.reaction import NOTHING, Reaction, end
from toolguard_engine.model.call import Call, Run
from toolguard_engine.model.history import Count, mixed
from toolguard_engine.wording import loop_notes

AGAIN = 2
"""A failure that is the first of its kind is no repetition, whatever the thresholds."""


class UniformErrorCounters(LoopCounters):
    """`uniform_errors` and `uniform_errors_most`: as in `ErrorCounters`, for all calls of a tool, whatever their arguments;
    `uniform_call`: the last one that was counted."""

    uniform_errors: dict[int, Count] = msgspec.field(default_factory=dict)
    uniform_errors_most: int = 0
    uniform_call: int = 0

    @property
    def matters(self) -> bool:
        return self.uniform_errors_most > 1

    def may_be_due(self, settings: LoopDetection) -> bool:
        return is_on(settings) and self.uniform_errors_most + 1 >= settings.warning_threshold

    @property
    def awaits_news(self) -> bool:
        return bool(self.uniform_errors)

    def on_news(self, *, reads_only: bool) -> None:  # noqa: ARG002 - part of the protocol
        self.uniform_errors.clear()
        self.uniform_errors_most = 0


def is_on(settings: LoopDetection) -> bool:
    """Whether `identicalErrors` asks for a note or an end at all."""
    return bool(settings.identical_errors.warn or settings.identical_errors.stop)


def counts(outcome: Outcome) -> bool:
    """Whether this is a failure that a later attempt does not get over by itself."""
    return outcome.failed and not outcome.passing


def on_failure(call: Call, outcome: Outcome, run: Run, settings: LoopDetection) -> Reaction:
    """Counts a failure for which `counts` is true."""
    if not is_on(settings):
        return NOTHING
    counted, this = run.counters.get(UniformErrorCounters), call_digest(call.tool, call.params)
    if this == counted.uniform_call:
        return NOTHING
    counted.uniform_call = this
    count = count_again(counted.uniform_errors, mixed(tool_digest(call.tool), outcome.result), call.request)
    counted.uniform_errors_most = max(counted.uniform_errors_most, count)
    return _due(call, count, run, settings) if count else NOTHING


def _due(call: Call, count: int, run: Run, settings: LoopDetection) -> Reaction:
    finding, last = loop_notes.failed_alike(call, count), settings.global_circuit_breaker_threshold
    stops = settings.identical_errors.stop > 0
    if count < AGAIN:
        return NOTHING
    if stops and count >= last:
        return end(run, CODE, finding)
    if settings.identical_errors.warn and count == settings.warning_threshold:
        return Reaction(CODE, loop_notes.one_error(call, count, last if stops else 0), reason=finding)
    return NOTHING
