"""Following the links of all places that a held call names, as `os.path.realpath` does, but at less cost."""

from __future__ import annotations

import os
import random
from contextlib import suppress
from pathlib import Path

import pytest

from toolguard_engine.model.call_world import Named, NamedTarget
from toolguard_engine.server import world_reader
from toolguard_engine.server.world_reader import WorldReader

NAMES = ("a", "b", "c", "l", "m", "x")


def some_path(chance: random.Random, folder: Path, most: int) -> str:
    return f"{folder}/" + "/".join(chance.choice(NAMES) for _ in range(chance.randint(1, most)))


def test_links_are_followed_as_the_system_does(tmp_path: Path) -> None:
    chance, root = random.Random(3), Path(os.path.realpath(tmp_path))  # noqa: S311 - only spreads the paths
    for number in range(120):
        path = Path(some_path(chance, root, 4))
        with suppress(OSError):
            if number % 2:
                path.mkdir(parents=True, exist_ok=True)
            elif number % 3:
                path.symlink_to(chance.choice([f"{root}/a", "b", "../c", str(root), "nowhere/x", ".", "..", str(path)]))
            else:
                path.write_text("")
    asked = [some_path(chance, root, 7) for _ in range(2_000)]
    links = world_reader._Links()
    assert {path: found for path in asked if (found := links.real(path)) != os.path.realpath(path)} == {}
    assert any(links.real(path) != path for path in asked)
    assert [links.real(path) for path in ("/", "", "/a/no/such", "//")] == ["/", "", "/a/no/such", "/"]


def test_deep_folders_are_looked_at_once_and_nothing_below_what_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "/".join("d" * 100)
    deep.mkdir(parents=True)
    there = [f"{deep}/f{number}" for number in range(100)]
    missing = ["/nowhere" + "/a" * number for number in range(1, 300)]
    count, lstat = 0, os.lstat

    def counted(path: str) -> os.stat_result:
        nonlocal count
        count += 1
        return lstat(path)

    monkeypatch.setattr(os, "lstat", counted)
    targets = tuple(NamedTarget("delete", path, path) for path in (*there, *missing))
    seen = WorldReader().look(Named(str(deep), targets, words=tuple(missing)))
    assert [target.path for target in seen.targets] == [*there, *missing]
    assert count < 5 * len(targets)
