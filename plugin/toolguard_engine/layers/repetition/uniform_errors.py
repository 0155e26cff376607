"""Calls of one tool that keep failing with one and the same error, whatever their arguments.

`identical_errors` ends the run early where the same call fails, or where the error names what it failed on. An error that
names nothing, such as `exit code 1` or `exec denied`, says less: different commands may fail with it for different reasons.
So it takes `warningThreshold` such failures for a note, and `globalCircuitBreakerThreshold` for the end of the run.

These do not count: a failure that may pass by itself; the same call again, which may be waiting for something; and more than
one call of a message. The counts start again after a call that succeeded with a result that it did not have lately.
"""

from __future__ import annotations

from toolguard_engine.config.settings import LoopDetection
from toolguard_engine.effects.calls.call_digest import call_digest, tool_digest
from toolguard_engine.effects.calls.outcomes import Outcome
from toolguard_engine.layers.repetition.identical_errors import CODE, count_again
from toolguard_engine.layers.repetition.reaction import NOTHING, Reaction, end
from toolguard_engine.model.call import Call, Run
from toolguard_engine.model.history import Past, mixed
from toolguard_engine.wording import loop_notes

AGAIN = 2
"""A failure that is the first of its kind is no repetition, whatever the thresholds."""


def may_be_due(past: Past, settings: LoopDetection) -> bool:
    """Whether one more failure could lead to a note or to the end of the run."""
    return is_on(settings) and past.uniform_errors_most + 1 >= settings.warning_threshold


def is_on(settings: LoopDetection) -> bool:
    """Whether `identicalErrors` asks for a note or an end at all."""
    return bool(settings.identical_errors.warn or settings.identical_errors.stop)


def counts(outcome: Outcome) -> bool:
    """Whether this is a failure that a later attempt does not get over by itself."""
    return outcome.failed and not outcome.passing


def on_news(past: Past) -> None:
    """A call succeeded, with a result that it did not have lately."""
    past.uniform_errors.clear()
    past.uniform_errors_most = 0


def on_failure(call: Call, outcome: Outcome, run: Run, settings: LoopDetection) -> Reaction:
    """Counts a failure for which `counts` is true."""
    if not is_on(settings):
        return NOTHING
    past, this = run.past, call_digest(call.tool, call.params)
    if this == past.uniform_call:
        return NOTHING
    past.uniform_call = this
    count = count_again(past.uniform_errors, mixed(tool_digest(call.tool), outcome.result), call.request)
    past.uniform_errors_most = max(past.uniform_errors_most, count)
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
