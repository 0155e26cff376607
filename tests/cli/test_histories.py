"""Whatever fails and whoever is killed: nothing that was acknowledged is lost, and nothing happens twice."""

from __future__ import annotations

import histories
import pytest

from effort import ALL
from toolguard_engine.stores import disk

PARTS = 8
"""Each is a test, so that they run side by side."""
SEEDS = 5_000 if ALL else 200
FOUND = (56, 125, 138, 168, 200, 273, 325, 374, 620, 1250, 1300, 1865, 1932, 2717, 4145, 8860)
"""Seeds that found something once: a kill switch that a power failure turned on again, lines that were in the log twice, a
log that was said to lack a part or its head, calls that were lost when the file was replaced while it was read, a
journal whose name was not on the disk, and a use that the log knew before the ledger."""


def broken(seeds: range | tuple[int, ...]) -> tuple[dict[int, list[str]], int]:
    played = {seed: histories.play(seed) for seed in seeds}
    wrong = {seed: history.wrong for seed, history in played.items() if history.wrong}
    return wrong, sum(history.power_failures for history in played.values())


@pytest.mark.parametrize("part", range(PARTS))
def test_no_law_is_broken(part: int) -> None:
    wrong, power_failures = broken(range(1_000 + part, 1_000 + SEEDS, PARTS))
    assert wrong == {}
    assert power_failures >= 60 // PARTS


def test_what_was_found_once() -> None:
    assert broken(FOUND)[0] == {}


def test_one_seed_is_one_history() -> None:
    assert histories.play(7) == histories.play(7)
    assert len({histories.play(seed).digest for seed in range(20)}) == 20


def _first_broken() -> list[str]:
    """What the first history says that breaks a law. The laws are not kept by chance."""
    return next((wrong for seed in range(1, 300) if (wrong := histories.play(seed).wrong)), [])


@pytest.mark.parametrize("name", ["sync", "lock"])
def test_a_store_that_does_not_take_care_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    real = histories.MemoryDisk.install

    def careless(self: histories.MemoryDisk, patch: pytest.MonkeyPatch) -> None:
        real(self, patch)
        if name == "sync":
            patch.setattr(disk, "sync", lambda _: None)
        else:
            patch.setattr(disk, "lock", lambda *_: lambda: None)

    monkeypatch.setattr(histories.MemoryDisk, "install", careless)
    assert _first_broken()
