"""A call that is executed and fails in the same way again and again, for a reason that repeating cannot mend.

Its arguments may vary in numbers as long as the text of the error does not. Calls of one message are one attempt. A call
that succeeded and may have changed something clears all counts: what failed before it may work behind it.
"""

from __future__ import annotations

from toolguard_engine import loop_texts
from toolguard_engine.config import IdenticalErrors
from toolguard_engine.history import Count, Past, mixed
from toolguard_engine.layers.detectors.reaction import NOTHING, Reaction, end
from toolguard_engine.looks import only_looks
from toolguard_engine.model import Call, Run
from toolguard_engine.outcomes import Outcome, is_poll

CODE = "loop.same-error"
MAX_KEYS = 200


def may_be_due(past: Past, settings: IdenticalErrors) -> bool:
    """Whether one more failure could be told of."""
    most = past.errors_most + 1
    return 0 < settings.warn <= most or 0 < settings.stop <= most


def counts(outcome: Outcome) -> bool:
    """Whether this may be a failure for this detector."""
    return outcome.failed and outcome.lasting


def on_success(call: Call, past: Past) -> None:
    if past.errors and not only_looks(call.tool, call.params):
        past.errors.clear()
        past.errors_most = 0


def on_failure(call: Call, family: int, outcome: Outcome, run: Run, settings: IdenticalErrors) -> Reaction:
    """`counts` is asked first."""
    if not (settings.warn or settings.stop) or is_poll(call.tool, call.params):
        return NOTHING
    past, key = run.past, mixed(family, outcome.result)
    known = past.errors.pop(key, None) or Count()
    counted = known.again(call.request)
    past.errors[key] = known  # at the end: the oldest are dropped first
    if len(past.errors) > MAX_KEYS:
        del past.errors[next(iter(past.errors))]
    past.errors_most = max(past.errors_most, known.count)
    return _due(call, known.count, run, settings) if counted else NOTHING


def _due(call: Call, count: int, run: Run, settings: IdenticalErrors) -> Reaction:
    found = loop_texts.failed_alike(call, count)
    if settings.stop and count >= settings.stop:
        return end(run, CODE, found)
    if settings.warn and count == settings.warn:
        return Reaction(CODE, loop_texts.same_error(call, count, settings.stop), reason=found)
    return NOTHING
