"""The same call with the same result, over and over; `poll_no_progress` is the same for polls."""

from __future__ import annotations

from toolguard_engine.config.settings import Detectors
from toolguard_engine.layers.repetition.reaction import Reaction
from toolguard_engine.model.call import Call
from toolguard_engine.wording import loop_notes

CODE = "loop.repeat"


def is_on(detectors: Detectors) -> bool:
    return detectors.generic_repeat


def describe(call: Call, count: int) -> str:
    """Says what was found."""
    return loop_notes.repeated(call, count)


def warn(call: Call, count: int, critical: int) -> Reaction:
    return Reaction(CODE, loop_notes.repeats(call, count, critical), reason=describe(call, count))
