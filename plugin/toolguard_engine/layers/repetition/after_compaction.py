"""The guard after a compaction: the history was made shorter, and the first calls after it are the same loop again.

The first `windowSize` executed calls are watched; where all of them are the same call with the same result, the run ends.
The same is here what is the same in every character: a clock that moves on in a result is enough to go on.
Identical calls of one message are one of them. One call alone repeats nothing: at least two are watched.
"""

from __future__ import annotations

from toolguard_engine.config.settings import LoopDetection
from toolguard_engine.effects.calls.call_digest import exact_digest
from toolguard_engine.effects.calls.outcomes import Outcome
from toolguard_engine.layers.repetition.reaction import NOTHING, Reaction, end
from toolguard_engine.model.call import Call, Run
from toolguard_engine.model.history import Past, mixed
from toolguard_engine.wording import loop_notes

CODE = "compaction_loop_persisted"


def arm(past: Past, settings: LoopDetection) -> int:
    """For how many calls."""
    past.armed = max(2, settings.post_compaction_guard.window_size)
    past.watched = past.watched_call = past.watched_request = past.watched_calls = 0
    return past.armed


def watch(call: Call, outcome: Outcome, run: Run) -> Reaction:
    """Only while it is armed.

    The gateway has a guard like this: where it is first, the last result is cut off, and only the audit log is told.
    """
    past, key = run.past, exact_digest(call.tool, call.params)
    seen = past.watched if outcome.cut_off and key == past.watched_call else mixed(key, outcome.exact)
    if past.watched_calls and seen != past.watched:
        past.armed = 0  # something else happens: the window cannot be filled any more
        return NOTHING
    if past.watched_calls and call.request and call.request == past.watched_request:
        return NOTHING
    past.watched_call, past.watched, past.watched_request = key, seen, call.request
    past.watched_calls += 1
    past.armed -= 1
    return NOTHING if past.armed else end(run, CODE, loop_notes.still_looping(CODE, call, past.watched_calls))
