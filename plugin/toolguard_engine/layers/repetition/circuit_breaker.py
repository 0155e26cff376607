"""Calls in a row that bring nothing new, whichever tools they are: any cycle that fits into the history.

It counts whatever other detectors are switched off. The run never ends before the model was warned, nor in the message in
which it was.
"""

from __future__ import annotations

from toolguard_engine.config.settings import LoopDetection
from toolguard_engine.layers.repetition.loop_counters import LoopCounters, NoteCounters
from toolguard_engine.layers.repetition.reaction import NOTHING, Reaction, end
from toolguard_engine.model.call import Call, Run
from toolguard_engine.wording import loop_notes

CODE = "loop.breaker"


class BreakerCounters(LoopCounters):
    """`stale_reported`: the request in which the model was told that nothing is new."""

    stale_reported: int = 0


def note_given(run: Run, request: int) -> None:
    """A note got to the model in this request."""
    run.counters.get(BreakerCounters).stale_reported = request


def warns_at(settings: LoopDetection) -> int:
    """0: never; the run ends with the first call that brings nothing new."""
    critical, last = settings.critical_threshold, settings.global_circuit_breaker_threshold
    return critical if critical < last else last - 1


def on_stale(call: Call, run: Run, settings: LoopDetection) -> Reaction:
    """A call brought nothing new."""
    past = run.past
    past.stale += 1
    if past.stale < warns_at(settings):
        return NOTHING
    return _due(call, run, settings)


def _due(call: Call, run: Run, settings: LoopDetection) -> Reaction:
    past, last = run.past, settings.global_circuit_breaker_threshold
    if past.stale == warns_at(settings):
        note_given(run, call.request)
        reason = loop_notes.stale(call, past.stale)
        return Reaction(CODE, loop_notes.nothing_new(call, past.stale, last), reason=reason)
    reported = run.counters.get(BreakerCounters).stale_reported
    untold = run.counters.get(NoteCounters).untold
    if past.stale < last or untold or (warns_at(settings) and call.request and call.request == reported):
        return NOTHING
    return end(run, CODE, loop_notes.stale(call, past.stale))
