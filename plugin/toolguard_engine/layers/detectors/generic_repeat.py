"""The same call with the same result, over and over; `poll_no_progress` is the same for polls."""

from __future__ import annotations

from toolguard_engine import loop_texts
from toolguard_engine.config import Detectors
from toolguard_engine.layers.detectors.reaction import Reaction
from toolguard_engine.model import Call

CODE = "loop.repeat"


def is_on(detectors: Detectors) -> bool:
    return detectors.generic_repeat


def found(call: Call, count: int) -> str:
    """In words."""
    return loop_texts.repeated(call, count)


def warn(call: Call, count: int, critical: int) -> Reaction:
    return Reaction(CODE, loop_texts.repeats(call, count, critical), reason=found(call, count))
