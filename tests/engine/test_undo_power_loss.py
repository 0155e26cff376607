"""A power failure may lose the last entries of `undo`, since nothing of them is synced. What it leaves of one gives a
person back what was there, or nothing: never half of it in the place of what is there now."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from toolguard_engine.effects.calls.replaced_content import ReplacedContent
from toolguard_engine.stores.undo import undo_restoring
from toolguard_engine.stores.undo.undo_entry import UndoCause
from toolguard_engine.stores.undo.undo_folder import UndoFolder

BEFORE = {"a.txt": b"before, first\n" * 2_000, "b.txt": b"before, second\n" * 9}
AFTER = b"after\n"
LATER = 60.0
LEFT: dict[str, Callable[[bytes], bytes | None]] = {
    "whole": lambda content: content,
    "gone": lambda _: None,
    "empty": lambda _: b"",
    "a sector": lambda content: content[:512] if len(content) > 512 else b"",
    "all but a sector": lambda content: content[:-512],
}
"""What may be there of a file that was written and not synced."""


class Desk:
    """Files of a person that a call rewrites, with an entry of what was in them."""

    def __init__(self, folder: Path) -> None:
        self.work, self.folder = folder / "work", UndoFolder(folder / "state")
        self.work.mkdir(parents=True)
        for name, content in BEFORE.items():
            (self.work / name).write_bytes(content)
        change = ReplacedContent("rewritten", str(self.work))
        self.folder.save(UndoCause(1.0), lambda saving: saving.save((change,)), lambda _: False)
        for name in BEFORE:
            (self.work / name).write_bytes(AFTER)
        [self._entry] = (path for path in self.folder.path.iterdir())

    def fail(self, left: tuple[str, ...]) -> None:
        """This is left of the entry's files. Their times may be on the disk although their content is not."""
        for path, kind in zip(sorted(self._entry.iterdir()), left, strict=True):
            content, changed = LEFT[kind](path.read_bytes()), path.stat().st_mtime_ns
            path.unlink()
            if content is not None:
                path.write_bytes(content)
                os.utime(path, ns=(changed, changed))

    def seen(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.work.iterdir()}


def failures() -> Iterator[tuple[str, ...]]:
    return product(LEFT, repeat=len(BEFORE) + 1)


def test_what_a_power_failure_leaves_is_whole_or_nothing(tmp_path: Path) -> None:
    restored = set()
    for number, left in enumerate(failures()):
        desk = Desk(tmp_path / str(number))
        desk.fail(left)
        for entry in desk.folder.entries():
            undo_restoring.restore(desk.folder, entry, LATER)
        seen = desk.seen()
        assert all(seen[name] in (BEFORE[name], AFTER) for name in BEFORE), left
        assert set(seen) == set(BEFORE), left
        restored.add(tuple(seen[name] == BEFORE[name] for name in sorted(seen)))
    assert restored == set(product((True, False), repeat=len(BEFORE)))


@pytest.mark.parametrize("left", ["gone", "empty", "a sector"])
def test_an_entry_without_its_description_is_not_shown_and_goes_in_time(tmp_path: Path, left: str) -> None:
    desk = Desk(tmp_path)
    [entry] = desk.folder.path.iterdir()
    names = sorted(path.name for path in entry.iterdir())
    desk.fail(tuple(left if name == "entry.json" else "whole" for name in names))
    assert desk.folder.entries() == []
    os.utime(entry, (0, 0))
    after = UndoFolder(tmp_path / "state")
    while not after.prune(LATER):
        pass
    assert list(desk.folder.path.iterdir()) == []
