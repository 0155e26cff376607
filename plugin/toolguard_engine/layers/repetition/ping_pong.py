"""Two calls that take turns at the newest end of the history, each with one result that does not change."""

from __future__ import annotations

from toolguard_engine.config.settings import Detectors
from toolguard_engine.layers.repetition.reaction import Reaction
from toolguard_engine.model.call import Call
from toolguard_engine.model.history import Past
from toolguard_engine.wording import loop_notes

CODE = "loop.ping-pong"


def is_on(detectors: Detectors) -> bool:
    return detectors.ping_pong


def length(past: Past) -> int:
    """Counts calls: A B A B is 4. No more than the history holds."""
    return min(past.alternating, len(past.calls))


def goes_on(series: int, past: Past) -> bool:
    """Whether a call of this series is one of the two. Either: after a block the other one is no news."""
    return series in past.series[-2:]


def describe(call: Call, count: int) -> str:
    """Says what was found."""
    return loop_notes.alternated(call, count)


def warn(call: Call, count: int, critical: int) -> Reaction:
    return Reaction(CODE, loop_notes.alternates(call, count, critical), reason=describe(call, count))
