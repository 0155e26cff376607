"""`toolguard undo`: what it says of what a restore would do."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_stage import texts

from toolguard_cli.commands import undo
from toolguard_cli.system.paths import Places
from toolguard_engine.stores.atomic import own_folder
from toolguard_engine.stores.undo.undo_entry import UndoCause, UndoEntry
from toolguard_engine.stores.undo.undo_folder import UndoFolder
from toolguard_engine.stores.undo.undo_saving import UndoSaving


def kept(places: Places, *names: str) -> tuple[UndoEntry, list[Path]]:
    """An entry with what these files hold now."""
    own_folder(places.state_dir).mkdir(exist_ok=True)
    files = [places.state_dir.parent / name for name in names]
    for file in files:
        file.write_text("old")

    def fill(saving: UndoSaving) -> None:
        for file in files:
            saving.present(str(file))

    return UndoFolder(places.state_dir).save(UndoCause(1.0), fill, lambda _: False), files


COUNTED = [(1, "1 path to bring back", "1 path unchanged"), (2, "2 paths to bring back", "2 paths unchanged")]


@pytest.mark.parametrize(("count", "gone", "same"), COUNTED)
def test_what_would_be_restored_is_counted(places: Places, count: int, gone: str, same: str) -> None:
    entry, files = kept(places, *map(str, range(2 * count)))
    for file in files[:count]:
        file.unlink()
    assert texts(undo.run(places, entry.id, dry_run=True))[1].partition(": ")[2] == f"{gone}, {same}"
    for file in files[:count]:
        file.write_text("new")
    assert f"{count} path{'s' * (count > 1)} to replace" in texts(undo.run(places, entry.id, dry_run=True))[1]
