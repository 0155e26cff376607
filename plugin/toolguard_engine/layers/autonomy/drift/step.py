"""One call, as far as drift is concerned."""

from __future__ import annotations

import msgspec


class DriftStep(msgspec.Struct, frozen=True):
    """`rank`: of its level, 0 SAFE to 4 CRITICAL; `resources`: digest and name of each path, host and recipient; `at`:
    seconds since 1970, 0 where not known."""

    rank: int
    outward: bool = False
    resources: tuple[tuple[int, str], ...] = ()
    at: float = 0.0
