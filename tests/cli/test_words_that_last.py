"""What a person says to the kill switch outlasts a power failure once it is acknowledged, also if it was said before."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from disk_in_memory import Fault, MemoryDisk
from turns import KilledError

from toolguard_engine.stores import atomic
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile, Unwritten

STATE = Path("/in memory")
SEEDS = 12
"""Different power failures after the same history."""


class Killer:
    """Kills the process at one of its operations of the disk. `count`: how many there were."""

    def __init__(self) -> None:
        self.count, self.kills_at = 0, 0

    def __call__(self, _: str) -> None:
        self.count += 1
        if self.count == self.kills_at:
            raise KilledError


def _said_again(monkeypatch: pytest.MonkeyPatch, seed: int, *, is_on: bool, why: str, kills_at: int) -> tuple[bool, bool]:
    """Whether the first word was broken off, and whether the second one, which was acknowledged, is lost."""
    killer = Killer()
    disk = MemoryDisk(STATE, Random(seed), before=killer)  # noqa: S311
    disk.install(monkeypatch)
    disk.make_folder(atomic.own_folder(STATE))
    switch = KillSwitchFile(STATE)
    switch.set(on=not is_on, by="anna", why="too fast")
    killer.count, killer.kills_at = 0, kills_at
    try:
        switch.set(on=is_on, by="anna", why=why)
        is_broken_off = False
    except KilledError:
        is_broken_off = True
    killer.kills_at = 0
    switch.set(on=is_on, by="anna", why=why)
    disk.lose_power()
    return is_broken_off, (switch.thrown() is not None) != is_on


@pytest.mark.parametrize("why", ["too fast", ""])
@pytest.mark.parametrize("is_on", [True, False])
def test_a_word_that_is_said_again_after_a_kill_lasts(monkeypatch: pytest.MonkeyPatch, why: str, *, is_on: bool) -> None:
    lost, kills_at, is_broken_off = list[tuple[int, int]](), 0, True
    while is_broken_off:
        kills_at += 1
        for seed in range(SEEDS):
            is_broken_off, is_lost = _said_again(monkeypatch, seed, is_on=is_on, why=why, kills_at=kills_at)
            lost += [(kills_at, seed)] * is_lost
    assert kills_at > 3
    assert lost == []


@pytest.mark.parametrize("is_on", [True, False])
def test_a_word_that_the_disk_does_not_confirm_is_not_acknowledged(monkeypatch: pytest.MonkeyPatch, *, is_on: bool) -> None:
    disk = MemoryDisk(STATE, Random(1))  # noqa: S311
    disk.install(monkeypatch)
    disk.make_folder(atomic.own_folder(STATE))
    switch = KillSwitchFile(STATE)
    switch.set(on=is_on, by="anna", why="")
    disk.fault = Fault("errors", 1.0)
    with pytest.raises(Unwritten):
        switch.set(on=is_on, by="anna", why="")


def test_off_where_toolguard_has_never_been(tmp_path: Path) -> None:
    switch = KillSwitchFile(tmp_path)
    switch.set(on=False, by="anna", why="")
    assert switch.thrown() is None
    assert list(tmp_path.iterdir()) == []
