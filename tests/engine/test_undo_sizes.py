"""What is known of the entries that can be undone: their sizes and their order, without reading them again."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine.config.undo_settings import UndoConfig
from toolguard_engine.effects.calls.replaced_content import ReplacedContent
from toolguard_engine.model.call import Call
from toolguard_engine.server import undo_saver
from toolguard_engine.server.undo_saver import UndoSaver
from toolguard_engine.stores.undo import undo_folder
from toolguard_engine.stores.undo.undo_entry import UndoCause
from toolguard_engine.stores.undo.undo_folder import OF_ENTRY, UndoFolder
from toolguard_engine.stores.undo.undo_sizes import UndoSizes

PATIENCE = 20.0

ENTRIES = st.dictionaries(
    st.text("0123456789abcdef", min_size=1, max_size=15),
    st.tuples(st.floats(0, 1e12), st.integers(0, 1 << 50)),
    max_size=30,
)


def wait_until(is_met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_met():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@given(ENTRIES, st.data())
def test_the_oldest_goes_first_and_the_total_is_that_of_those_that_are_left(
    entries: dict[str, tuple[float, int]], data: st.DataObject
) -> None:
    sizes = UndoSizes()
    for name, (at, size) in entries.items():
        sizes.add(name, at, size)
    left = data.draw(st.sets(st.sampled_from(sorted(entries)))) if entries else set()
    assert sizes.keep(left | {"another"}) == left
    assert (len(sizes), sizes.total) == (len(left), sum(entries[name][1] for name in left))
    ages = []
    while sizes:
        name, at = sizes.oldest()
        assert at == entries[name][0]
        ages.append(at)
        sizes.drop_oldest()
    assert ages == sorted(entries[name][0] for name in left)
    assert sizes.total == 0


def test_many_entries_take_little() -> None:
    sizes, count = UndoSizes(), 20_000
    before = sys.getsizeof(sizes._times)
    for number in range(count):
        sizes.add(f"{number:06x}", float(number), OF_ENTRY)
    assert sum(sys.getsizeof(each) - before for each in (sizes._times, sizes._sizes, sizes._names)) < 30 * count
    for number in range(count - 1):
        assert sizes.oldest() == (f"{number:06x}", number)
        sizes.drop_oldest()
    assert (len(sizes), sizes.total, len(sizes._times) < count // 2) == (1, OF_ENTRY, True)


def test_names_that_no_entry_has_are_left_alone() -> None:
    sizes = UndoSizes()
    for name in ("", "notes", "0123456789abcdef", "-1", "0x1", "\udcff"):
        sizes.add(name, 1.0, 5)
    assert (len(sizes), sizes.total) == (0, 0)


@pytest.fixture
def fill(tmp_path: Path) -> Callable[[UndoFolder, float], None]:
    (tmp_path / "file").write_text("12345")
    changes = (ReplacedContent("replaced", str(tmp_path / "file")),)

    def filled(folder: UndoFolder, at: float) -> None:
        folder.save(UndoCause(at), lambda saving: saving.save(changes), lambda _: False)

    return filled


def test_what_was_saved_here_is_not_looked_for(
    tmp_path: Path, fill: Callable[[UndoFolder, float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = UndoFolder(tmp_path / "state", max_bytes=3.9 * OF_ENTRY, days=1)
    fill(folder, 1.0)
    assert folder.prune(1.0)
    looks: list[str] = []
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: looks.append(str(path)) or listed(path))
    for at in range(2, 8):
        fill(folder, float(at))
        assert folder.prune(float(at))
    assert looks == []
    monkeypatch.undo()
    assert [each.cause.at for each in folder.entries()] == [7.0, 6.0, 5.0]


def test_nothing_is_removed_before_all_is_known(tmp_path: Path, fill: Callable[[UndoFolder, float], None]) -> None:
    """The entries of an earlier process are read some at a time; until then, the oldest of them may not be known."""
    count = 2 * undo_folder.AT_ONCE + 1
    before = UndoFolder(tmp_path / "state")
    for at in range(count):
        fill(before, float(at))
    folder = UndoFolder(tmp_path / "state", max_bytes=1.5 * OF_ENTRY, days=1)
    assert [folder.prune(float(count)) for _ in range(2)] == [False, False]
    assert len(folder.entries()) == count
    assert folder.prune(float(count))
    assert [each.cause.at for each in folder.entries()] == [count - 1.0]


def test_entries_of_other_processes_count_after_some_time(tmp_path: Path, fill: Callable[[UndoFolder, float], None]) -> None:
    folder, other = (UndoFolder(tmp_path / "state", max_bytes=1.5 * OF_ENTRY, days=1) for _ in range(2))
    fill(folder, 5.0)
    assert folder.prune(5.0)
    fill(other, 1.0)
    assert folder.prune(6.0)
    assert len(folder.entries()) == 2
    assert folder.prune(5.0 + undo_folder.LOOK_SECONDS)
    assert [each.cause.at for each in folder.entries()] == [5.0]


def test_what_was_saved_before_the_engine_began_is_pruned_without_a_call(
    tmp_path: Path, fill: Callable[[UndoFolder, float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = UndoFolder(tmp_path / "state")
    for at in range(undo_folder.AT_ONCE + 1):
        fill(before, float(at))
    monkeypatch.setattr(undo_saver, "PAUSE", 0.001)
    UndoSaver().begin(tmp_path / "state", UndoConfig(), str(tmp_path))
    wait_until(lambda: not before.entries())


def test_a_folder_that_cannot_be_read_is_left_alone_until_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("x")
    saver, looks = UndoSaver(60), [OSError(), None]
    monkeypatch.setattr(undo_saver, "PAUSE", 0.001)

    def failing(_: UndoFolder, __: float) -> bool:
        if failure := looks.pop(0):
            raise failure
        return True

    monkeypatch.setattr(UndoFolder, "prune", failing)
    saver.begin(tmp_path / "state", UndoConfig(), str(tmp_path))
    wait_until(lambda: len(looks) == 1)
    saver.before(Call("exec", {}, call_id="c", at=1.0), lambda: "rm a", (ReplacedContent("removed", str(tmp_path / "a")),))
    wait_until(lambda: not looks)
