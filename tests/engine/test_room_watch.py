"""Whether a room is still what its rules say, seen from the files that these are about."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolguard_engine.containment.rules import RoomRule
from toolguard_engine.server.room_watch import RoomWatch


def _replaced(file: Path) -> None:
    new = file.with_name("new")
    new.write_text("x")
    new.rename(file)


LOST: dict[str, Callable[[Path], object]] = {
    "a file is replaced": lambda home: _replaced(home / "a"),
    "a file is removed": lambda home: (home / "a").unlink(),
    "a file appears": lambda home: (home / "b").write_text(""),
    "a folder appears": lambda home: (home / "b").mkdir(),
    "a link appears": lambda home: (home / "b").symlink_to(home / "a"),
    "a file appears deep below": lambda home: ((home / "c/d").mkdir(parents=True), (home / "c/d/e").write_text("")),
    "a folder whose files are copied changes": lambda home: (home / "own/new").write_text(""),
    "a folder is moved": lambda home: (home / "folder").rename(home / "elsewhere"),
}
KEPT: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "a file is written to": lambda home: (home / "a").write_text("more"),
    "other files appear": lambda home: (home / "other").write_text(""),
    "a folder on the way appears": lambda home: (home / "c/d").mkdir(parents=True),
    "a folder gets a file": lambda home: (home / "folder/x").write_text(""),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("folder", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / "a").write_text("a")
    return tmp_path


def watch(home: Path) -> RoomWatch:
    rules = [RoomRule("read-only", home / name) for name in ("a", "b", "c/d/e", "folder")]
    return RoomWatch([*rules, RoomRule("own", home / "own")])


@pytest.mark.parametrize("what", LOST)
@pytest.mark.parametrize("age", [0, 3600])
def test_lost(home: Path, what: str, age: int) -> None:
    """`age`: of the folder, as a change at once after another may have the same time."""
    os.utime(home, (home.stat().st_mtime - age,) * 2)
    os.utime(home / "own", (1, 1))
    seen = watch(home)
    assert seen.is_current()
    assert seen.is_current()
    LOST[what](home)
    assert not seen.is_current()


@pytest.mark.parametrize("what", KEPT)
def test_kept(home: Path, what: str) -> None:
    seen = watch(home)
    KEPT[what](home)
    assert seen.is_current()
    assert seen.is_current()


def test_what_is_awaited_moves_down_with_its_folder(home: Path) -> None:
    seen = watch(home)
    (home / "c").mkdir()
    assert seen.is_current()
    (home / "c/d").mkdir()
    assert seen.is_current()
    (home / "c/d/e").write_text("")
    assert not seen.is_current()


def test_a_missing_file_is_not_looked_for_while_its_folder_is_the_same(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(home, (1, 1))
    seen = watch(home)
    assert seen.is_current()
    asked = []
    real = os.stat
    monkeypatch.setattr(os, "stat", lambda path: (asked.append(str(path)), real(path))[1])
    assert seen.is_current()
    assert str(home / "b") not in asked
    assert str(home) in asked
