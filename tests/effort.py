"""How much property tests try: little in the gate, everything with `TOOLGUARD_TEST_ALL=1` (`scripts/test --all` sets it)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

ALL = os.environ.get("TOOLGUARD_TEST_ALL") == "1"
GATE_EXAMPLES = 15

T = TypeVar("T")


def examples(full: int) -> int:
    """How many examples a test tries that tries `full` of them where everything is run."""
    return full if ALL else min(full, max(GATE_EXAMPLES, full // 12))


def some(cases: Sequence[T]) -> Sequence[T]:
    """Every fourth of them, or all where everything is run."""
    return cases if ALL else cases[::4]


def load_profile() -> None:
    """For tests that name no number themselves. No test asserts times."""
    settings.register_profile("gate", deadline=None, max_examples=GATE_EXAMPLES)
    settings.register_profile("all", deadline=None)
    settings.load_profile("all" if ALL else "gate")
