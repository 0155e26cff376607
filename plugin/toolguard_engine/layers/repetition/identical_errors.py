"""A call that is executed and fails in the same way again and again, for a reason that a retry cannot fix.

Its arguments may vary in numbers as long as the text of the error does not; where that names what it failed at, a file or
something in quotes, they may vary in anything. Calls of one message are one attempt. A call that succeeded and may have
changed something clears all counts: what failed before it may work behind it. One that only told something new clears those
of freely varying calls: the next attempt is made with other knowledge. The same success a second time clears nothing.
"""

from __future__ import annotations

import msgspec

from toolguard_engine.config.settings import IdenticalErrors, LoopDetection
from toolguard_engine.effects.calls.call_digest import kind_digest
from toolguard_engine.effects.calls.outcomes import Outcome
from toolguard_engine.layers.repetition.loop_counters import LoopCounters
from toolguard_engine.layers.repetition.reaction import NOTHING, Reaction, end
from toolguard_engine.model.call import Call, Run
from toolguard_engine.model.history import Count, mixed
from toolguard_engine.wording import loop_notes

CODE = "loop.same-error"
MAX_KEYS = 200


class ErrorCounters(LoopCounters):
    """`errors`: how often a call of a family failed in one way, by the digest of both; `kind_errors`: the same of calls that
    vary freely, since the last success that told something new; `errors_most`: at most how often."""

    errors: dict[int, Count] = msgspec.field(default_factory=dict)
    kind_errors: dict[int, Count] = msgspec.field(default_factory=dict)
    errors_most: int = 0

    @property
    def matters(self) -> bool:
        return bool(self.errors)

    def may_be_due(self, settings: LoopDetection) -> bool:
        """Whether one more failure could be told of."""
        limits, most = settings.identical_errors, self.errors_most + 1
        return 0 < limits.warn <= most or 0 < limits.stop <= most

    @property
    def awaits_news(self) -> bool:
        return bool(self.errors)

    def on_news(self, *, reads_only: bool) -> None:
        self.kind_errors.clear()
        if not reads_only:
            self.errors.clear()
            self.errors_most = 0


def counts(outcome: Outcome) -> bool:
    """Whether this may be a failure for this detector."""
    return outcome.failed and outcome.lasting


def on_failure(call: Call, family: int, outcome: Outcome, run: Run, settings: IdenticalErrors) -> Reaction:
    """`counts` is asked first."""
    if not (settings.warn or settings.stop):
        return NOTHING
    counted = run.counters.get(ErrorCounters)
    count = count_again(counted.errors, mixed(family, outcome.result), call.request)
    if outcome.names:
        kind = kind_digest(call.tool, call.params)
        count = max(count, count_again(counted.kind_errors, mixed(kind, outcome.result), call.request))
    counted.errors_most = max(counted.errors_most, count)
    return _due(call, count, run, settings) if count else NOTHING


def count_again(errors: dict[int, Count], key: int, request: int) -> int:
    """Counts one more failure under `key` and returns the count; 0 if it was counted for this request already."""
    known = errors.pop(key, None) or Count()
    counted = known.again(request)
    errors[key] = known  # at the end: the oldest are dropped first
    if len(errors) > MAX_KEYS:
        del errors[next(iter(errors))]
    return known.count if counted else 0


def _due(call: Call, count: int, run: Run, settings: IdenticalErrors) -> Reaction:
    text = loop_notes.failed_alike(call, count)
    if settings.stop and count >= settings.stop:
        return end(run, CODE, text)
    if settings.warn and count == settings.warn:
        return Reaction(CODE, loop_notes.same_error(call, count, settings.stop), reason=text)
    return NOTHING
