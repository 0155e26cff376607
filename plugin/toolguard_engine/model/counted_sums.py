"""What model calls used, as the metrics pass it to the guard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class UsedCall(NamedTuple):
    """A model call of this engine. `at`: milliseconds since 1970."""

    at: int
    agent: str
    session: str
    provider: str
    model: str
    tokens: int
    usd: float


class CountedSums(NamedTuple):
    """The sums of a metrics file by `SpendingCap.key`, and by session for limits per session. `begins`: of the running
    periods. `passed`: how many of this engine's rows are in them, or lost. `is_read`: False if only the period is known."""

    begins: Mapping[str, int]
    amounts: Mapping[str, float] = {}
    sessions: Mapping[str, Mapping[str, float]] = {}
    passed: int = 0
    is_read: bool = True
