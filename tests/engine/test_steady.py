"""A clock is trusted once it has gone evenly for ten minutes."""

from __future__ import annotations

import pytest

from toolguard_engine.metrics.steady_clock import JUMP_MS, STEADY_MS, SteadyClock

NOW = 1_780_000_000_000
JUMPS = {"a moment": (JUMP_MS, True), "ahead": (JUMP_MS + 1, False), "back": (-JUMP_MS - 1, False)}


@pytest.mark.parametrize("ticks", [0, 5, 10**12])
def test_ten_minutes(ticks: int) -> None:
    clock = SteadyClock()
    later = (0, 1, STEADY_MS - 1, STEADY_MS, STEADY_MS * 1_000)
    assert [clock.steady(NOW + each, ticks + each) for each in later] == [False, False, False, True, True]


@pytest.mark.parametrize(("jump", "steady"), JUMPS.values(), ids=JUMPS)
def test_a_jump_begins_anew(jump: int, *, steady: bool) -> None:
    clock = SteadyClock()
    clock.steady(NOW, 0)
    assert clock.steady(NOW + STEADY_MS, STEADY_MS)
    assert clock.steady(NOW + STEADY_MS + jump, STEADY_MS) is steady
    assert clock.steady(NOW + 2 * STEADY_MS + jump - 1, 2 * STEADY_MS - 1) is steady
    assert clock.steady(NOW + 2 * STEADY_MS + jump, 2 * STEADY_MS)
    assert not clock.steady(NOW, 3 * STEADY_MS)
