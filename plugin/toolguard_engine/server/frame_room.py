"""Room for the frames of Python functions, in one piece.

CPython (3.11 and later) takes frames from pieces of 16 kB. A function that is called where one piece ends maps a new one and
unmaps it when it returns, each time: a judgement that is nested just so deep takes up to 25 times as long. A function whose
own frame is large gets a large piece, and everything that it calls finds room in there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")

SLOTS = 1 << 16
"""Values on the stack of the large frame: half a megabyte. With its overhead the piece is a whole one, and the other half is
for all frames below. Only what is used is memory."""


def with_room(function: Callable[[], R]) -> Callable[[], R]:
    function.__code__ = function.__code__.replace(co_stacksize=SLOTS)
    return function
