"""A poll that shows the same state, over and over."""

from __future__ import annotations

from toolguard_engine.config.settings import Detectors
from toolguard_engine.layers.repetition.reaction import Reaction
from toolguard_engine.model.call import Call
from toolguard_engine.wording import loop_notes

CODE = "loop.poll"


def is_on(detectors: Detectors) -> bool:
    return detectors.known_poll_no_progress


def describe(call: Call, count: int) -> str:
    """Says what was found."""
    return loop_notes.polled(call, count)


def warn(call: Call, count: int, critical: int) -> Reaction:
    return Reaction(CODE, loop_notes.polls(call, count, critical), reason=describe(call, count))
