"""Engines in this process, see `engine_talk`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine_talk import PATIENCE, Talk, talks
from toolguard_engine.metrics import database
from toolguard_engine.stores import locked


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def patient_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """For processes and threads that race: on a slow machine a lock may be held for longer than a user would wait."""
    monkeypatch.setattr(locked, "LOCK_SECONDS", PATIENCE)
    monkeypatch.setattr(database, "BUSY_SECONDS", PATIENCE)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Talk]]:
    """Starts engines that have not been greeted yet."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with talks(Talk) as made:
        yield made


@pytest.fixture
def talk(start: Callable[[], Talk]) -> Iterator[Talk]:
    """One of them. What it said was expected: nothing is left when it ends."""
    engine = start()
    yield engine
    assert engine.is_over or engine.end() == []
