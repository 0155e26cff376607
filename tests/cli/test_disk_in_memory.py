"""The disk in memory does what a disk does, and loses what a disk may lose."""

from __future__ import annotations

import errno
import inspect
import os
from pathlib import Path
from random import Random

import pytest
from disk_in_memory import FUNCTIONS, PAGE, SECTOR, Fault, MemoryDisk

from toolguard_engine.stores import atomic, disk, locked
from toolguard_engine.stores.locked import Busy, StoreError

ROOT = Path("/in memory")
SEEDS = 40


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> MemoryDisk:
    return _new(monkeypatch, 1)


def _new(monkeypatch: pytest.MonkeyPatch, seed: int) -> MemoryDisk:
    made = MemoryDisk(ROOT, Random(seed))  # noqa: S311
    made.install(monkeypatch)
    return made


def _opened(path: Path) -> int:
    return disk.open_file(path, os.O_RDWR | os.O_CREAT)


def test_it_has_the_functions_of_the_real_one() -> None:
    public = {name for name, value in vars(disk).items() if inspect.isfunction(value)}
    assert set(FUNCTIONS) == public
    for name in FUNCTIONS:
        real, ours = inspect.signature(getattr(disk, name)), inspect.signature(getattr(MemoryDisk, name))
        assert list(ours.parameters.values())[1:] == list(real.parameters.values()), name
        assert ours.return_annotation == real.return_annotation, name


def test_what_was_written_is_read(memory: MemoryDisk) -> None:
    atomic.replace(ROOT / "a", b"one\ntwo\n")
    with atomic.opened(ROOT / "a") as file:
        assert list(file) == [b"one\n", b"two\n"]
    assert atomic.create(ROOT / "a", b"other") is False
    assert atomic.read_bounded(ROOT / "a", 100) == b"one\ntwo\n"
    assert disk.names(ROOT) == ["a"]
    atomic.remove(ROOT / "a")
    assert not atomic.is_there(ROOT / "a")


def _left(monkeypatch: pytest.MonkeyPatch, seed: int, *, synced: bool) -> bytes | None:
    """What a power failure leaves of a file that was replaced."""
    made = _new(monkeypatch, seed)
    atomic.replace(ROOT / "a", b"before")
    atomic.replace(ROOT / "a", b"behind", durable=synced)
    made.lose_power()
    return atomic.read_bounded(ROOT / "a", 100) if atomic.is_there(ROOT / "a") else None


def test_what_was_synced_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {_left(monkeypatch, seed, synced=True) for seed in range(SEEDS)} == {b"behind"}


def test_a_rename_may_be_there_before_the_content(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {_left(monkeypatch, seed, synced=False) for seed in range(SEEDS)} == {b"before", b"behind", b""}


def test_sectors_reach_the_disk_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    left = set()
    for seed in range(SEEDS):
        made = _new(monkeypatch, seed)
        atomic.replace(ROOT / "a", bytes(2 * SECTOR))
        handle = _opened(ROOT / "a")
        disk.write_at(handle, b"x" * 2 * SECTOR, 0)
        made.lose_power()
        data = atomic.read_bounded(ROOT / "a", 2 * SECTOR)
        left.add((data[:SECTOR], data[SECTOR:]))
    assert len(left) == 4


def test_what_a_failed_sync_lost_is_not_synced_later(memory: MemoryDisk) -> None:
    atomic.replace(ROOT / "a", bytes(3 * PAGE))
    handle = _opened(ROOT / "a")
    disk.write_at(handle, b"x" * 2 * PAGE, 0)
    memory.fault = Fault("errors", 1.0)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        disk.sync(handle)
    memory.fault = Fault()
    lost = _kept(memory)
    disk.write_at(handle, b"y", PAGE)
    disk.sync(handle)
    memory.lose_power()
    after = atomic.read_bounded(ROOT / "a", 3 * PAGE)
    assert after[PAGE : 2 * PAGE] == b"y" + b"x" * (PAGE - 1)
    assert after[:PAGE] == lost


def _kept(memory: MemoryDisk) -> bytes:
    return bytes(memory._folders[ROOT].kept["a"].kept[:PAGE])


@pytest.mark.parametrize(
    ("kind", "code"), [("full", errno.ENOSPC), ("read-only", errno.EROFS), ("no locks", errno.ENOLCK), ("errors", errno.EIO)]
)
def test_each_fault(memory: MemoryDisk, kind: str, code: int) -> None:
    def work() -> None:
        with locked.lock(ROOT / "a"):
            atomic.replace(ROOT / "a", b"data")

    work()
    memory.fault = Fault(kind, 1.0)
    with pytest.raises((StoreError, OSError)) as caught:
        work()
    assert os.strerror(code) in str(caught.value)


def test_a_lock_holds_until_its_owner_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = ["one"]
    made = MemoryDisk(ROOT, Random(1), owner=lambda: owner[0])  # noqa: S311
    made.install(monkeypatch)
    disk.lock(ROOT / "a.lock", 1)
    owner[0] = "other"
    with pytest.raises(Busy), locked.lock(ROOT / "a"):
        pass
    made.end("one")
    with locked.lock(ROOT / "a"):
        pass
