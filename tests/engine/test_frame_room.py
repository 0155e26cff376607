"""Room for frames: no depth of calls is slow because each call there maps memory."""

from __future__ import annotations

import resource

from toolguard_engine.server.frame_room import with_room

CALLS = 500


def leaf() -> None:
    pass


leaf.__code__ = leaf.__code__.replace(co_stacksize=100)  # a frame of a usual size


def faults(depth: int) -> int:
    """Page faults of many calls from so deep."""
    if depth:
        return faults(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        leaf()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def slow_depths() -> int:
    return sum(min(faults(depth), faults(depth)) >= CALLS for depth in range(400))


def test_calls_are_as_fast_at_each_depth() -> None:
    """Without room one depth in a hundred takes a page fault for each call (Python 3.11 and later)."""
    assert with_room(slow_depths)() == 0
