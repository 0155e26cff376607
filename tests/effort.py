"""How much property tests try: little in the gate, everything with `TOOLGUARD_TEST_ALL=1` (`scripts/test --all` sets it)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
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


@cache
def turn() -> int:
    """A number by the commit that is tested: what takes turns is another share at each commit, and the same in each run of
    one. `TOOLGUARD_TEST_TURN` repeats the share of another commit; it is the beginning of its hash."""
    given = os.environ.get("TOOLGUARD_TEST_TURN", "")
    if not given:
        command = ["git", "rev-parse", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent)
        given = done.stdout.strip() if done.returncode == 0 else ""
    return int(given[:8] or "0", 16)


def load_profile() -> None:
    """For tests that name no number themselves. No test asserts times."""
    settings.register_profile("gate", deadline=None, max_examples=GATE_EXAMPLES)
    settings.register_profile("all", deadline=None)
    settings.load_profile("all" if ALL else "gate")
