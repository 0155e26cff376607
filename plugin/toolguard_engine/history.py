"""What a run did lately: the last calls and what came of them, as digests. `layers.detectors` look for patterns in it.

A digest is 63 bits of BLAKE2b as an int, so that a step is small and two runs can be compared on disk and in memory.
"""

from __future__ import annotations

import msgspec


class Step(msgspec.Struct, array_like=True, gc=False):
    """One executed call. `call`: its tool and arguments without what varies by itself; `family`: the same with its numbers
    masked; `result`: what came of it, of the failure where it `failed`."""

    call: int
    family: int
    result: int
    failed: bool = False


class Past(msgspec.Struct):
    """The last steps of a run, the newest last, and what the detectors count beside them.

    `stale`: how many calls in a row brought nothing new. `same_errors`: how often a call of a family failed in one way, by
    the digest of both. `missing`: calls of tools that do not exist, by name. `criticals`: how often a detector blocked.
    `armed`: calls that the guard after a compaction still watches, `watched`: their digests.
    """

    steps: list[Step] = []
    stale: int = 0
    same_errors: dict[int, int] = {}
    missing: dict[str, int] = {}
    criticals: int = 0
    armed: int = 0
    watched: list[int] = []
