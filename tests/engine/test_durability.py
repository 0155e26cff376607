"""The table of durability: every file of the stores is in it, as in the documentation, and the stores do what it says."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.model.call import Run
from toolguard_engine.stores import atomic, durability, state_files, system_calls
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.durability import FILES
from toolguard_engine.stores.fleet import fleet_state
from toolguard_engine.stores.fleet.fleet_state import FleetState
from toolguard_engine.stores.fleet.local_marks import LocalMarks

DOCS = Path(__file__).parents[2] / "docs" / "architecture.md"
STORES = Path(atomic.__file__).parent
NOW = 1_000_000.0


def test_every_file_has_a_row() -> None:
    names = {value for name, value in vars(state_files).items() if name.isupper() and isinstance(value, str)}
    assert {each.name for each in FILES} == names
    assert len(FILES) == len(names)


def test_the_documentation_has_the_same_table() -> None:
    rows = [f"| `{each.name}` | {each.synced} | {each.power} | {each.restored} |" for each in durability.FILES]
    lines = DOCS.read_text().splitlines()
    first = lines.index(rows[0])
    assert lines[first : first + len(rows)] == rows
    assert not lines[first + len(rows)].startswith("|")


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[bool]]:
    """Whether each file that is replaced as a whole was synced."""
    found: dict[str, set[bool]] = {}
    replace, sync = atomic.replace, system_calls.sync
    synced: list[int] = []

    def counted(handle: int) -> None:
        synced.append(handle)
        sync(handle)

    def noted(path: Path, *given: Any, **more: Any) -> None:
        before = len(synced)
        replace(path, *given, **more)
        found.setdefault(path.name, set()).add(len(synced) > before)

    monkeypatch.setattr(system_calls, "sync", counted)
    monkeypatch.setattr(atomic, "replace", noted)
    return found


def test_the_stores_sync_what_the_table_says(tmp_path: Path, replaced: dict[str, set[bool]]) -> None:
    calls, why = stores.held_calls(tmp_path), Decision("anna", "cli", "")
    request = HeldCall("", "b", "exec", "main", "s", "r", "c", "it deletes", "rm x", created=NOW, expires=NOW + 60)
    held = calls.present(request, NOW).entry
    calls.approve(held.nonce, why, NOW, 30)
    stores.kill_switch(tmp_path).set(on=True, by="anna", why="too fast")
    stores.counters(tmp_path).save({"r": Run()})
    fleet_state.save(tmp_path, FleetState())
    fleet_state.save(tmp_path, FleetState(), durable=True)
    table = {each.name: each.synced for each in FILES}
    meant = {"always": {True}, "never": {False}, "sometimes": {True, False}}
    assert {name: table[name] for name in replaced} == {
        name: next(word for word, flags in meant.items() if flags == found) for name, found in replaced.items()
    }
    assert len(replaced) >= 4


ELSEWHERE = {"call_log_file", "engine_files"}
"""The first is in a folder of the person's, the second walks through folders that others made."""
FILE_STORES = (
    *(STORES / f"{name}.py" for name in ("atomic", "audit_tail", "locked", "toml_file")),
    *(path for path in sorted((STORES / "files").glob("*.py")) if path.stem not in ELSEWHERE),
    *(STORES / "fleet" / f"{name}.py" for name in ("fleet_state", "local_marks")),
)
NOT_OF_A_DISK = {"access", "geteuid", "getpid", "realpath", "urandom"}
OURS = {"disk", "os", "atomic", "files", "self"}
OF_A_PATH = {
    *("chmod", "exists", "glob", "is_dir", "is_file", "iterdir", "lstat", "mkdir", "open", "read_bytes", "read_text"),
    *("rmdir", "samefile", "stat", "touch", "unlink", "write_bytes", "write_text"),
}


@pytest.mark.parametrize("path", FILE_STORES, ids=lambda path: path.stem)
def test_the_stores_reach_the_disk_in_one_place(path: Path) -> None:
    """Otherwise the disk in memory (`tests/cli/disk_in_memory.py`) would not see all of what they do."""
    called = {
        (ast.unparse(node.func.value), node.func.attr)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert {name for holder, name in called if holder in ("os", "os.path")} <= NOT_OF_A_DISK
    assert not [(holder, name) for holder, name in called if holder not in OURS and name in OF_A_PATH]


def test_a_used_nonce_is_on_the_disk_before_its_call_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    sync = system_calls.sync
    monkeypatch.setattr(system_calls, "sync", lambda handle: (synced.append(handle), sync(handle))[1])
    LocalMarks(tmp_path).use("a" * 12, b"a" * 16)
    assert synced
