"""The guard after a compaction: the history was made shorter, and the first calls after it are the same loop again.

The first `windowSize` executed calls are watched; where all of them are the same call with the same result, the run ends.
The same is here what is the same in every character: a clock that moves on in a result is enough to go on.
Identical calls of one message are one of them. One call alone repeats nothing: at least two are watched.
"""

from __future__ import annotations

from toolguard_engine.config.settings import LoopDetection
from toolguard_engine.effects.calls.call_digest import exact_digest
from toolguard_engine.effects.calls.outcomes import Outcome
from toolguard_engine.layers.repetition.loop_counters import LoopCounters
from toolguard_engine.layers.repetition.reaction import NOTHING, Reaction, end
from toolguard_engine.model.call import Call, Run
from toolguard_engine.model.history import mixed
from toolguard_engine.wording import loop_notes

CODE = "compaction_loop_persisted"


class CompactionCounters(LoopCounters):
    """`armed`: calls that are still watched; `watched_call` and `watched`: what was seen, the call and what came of it, in
    `watched_calls`, the last one in `watched_request`."""

    armed: int = 0
    watched_call: int = 0
    watched: int = 0
    watched_calls: int = 0
    watched_request: int = 0

    @property
    def matters(self) -> bool:
        return bool(self.armed)

    def may_be_due(self, settings: LoopDetection) -> bool:  # noqa: ARG002 - part of the protocol
        return bool(self.armed)


def arm(run: Run, settings: LoopDetection) -> int:
    """Returns for how many calls the detector is armed."""
    counted = run.counters.get(CompactionCounters)
    counted.armed = max(2, settings.post_compaction_guard.window_size)
    counted.watched = counted.watched_call = counted.watched_request = counted.watched_calls = 0
    return counted.armed


def watch(call: Call, outcome: Outcome, run: Run) -> Reaction:
    """Nothing unless it is armed.

    The gateway has a guard like this: where it is first, the last result is cut off, and only the audit log is told.
    """
    counted = run.counters.get(CompactionCounters)
    if not counted.armed:
        return NOTHING
    key = exact_digest(call.tool, call.params)
    seen = counted.watched if outcome.cut_off and key == counted.watched_call else mixed(key, outcome.exact)
    if counted.watched_calls and seen != counted.watched:
        counted.armed = 0  # something else happens: the window cannot be filled any more
        return NOTHING
    if counted.watched_calls and call.request and call.request == counted.watched_request:
        return NOTHING
    counted.watched_call, counted.watched, counted.watched_request = key, seen, call.request
    counted.watched_calls += 1
    counted.armed -= 1
    return NOTHING if counted.armed else end(run, CODE, loop_notes.still_looping(CODE, call, counted.watched_calls))
