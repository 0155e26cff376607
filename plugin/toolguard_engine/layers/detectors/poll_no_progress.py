"""A poll that shows the same state, over and over."""

from __future__ import annotations

from toolguard_engine import loop_texts
from toolguard_engine.config import Detectors
from toolguard_engine.layers.detectors.reaction import Reaction
from toolguard_engine.model import Call

CODE = "loop.poll"


def is_on(detectors: Detectors) -> bool:
    return detectors.known_poll_no_progress


def found(call: Call, count: int) -> str:
    """In words."""
    return loop_texts.polled(call, count)


def warn(call: Call, count: int, critical: int) -> Reaction:
    return Reaction(CODE, loop_texts.polls(call, count, critical), reason=found(call, count))
