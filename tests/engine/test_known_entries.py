"""A store that has read its ledger before believes nothing that it would not believe if it read it for the first time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.approvals.ledger import Decision, HeldCall, RefusedError
from toolguard_engine.stores.files import signing_key_file
from toolguard_engine.stores.files.nonces import FileNonces

PERSON = Decision("ada", "cli")


def request(number: int) -> HeldCall:
    return HeldCall("", f"b{number}", "exec", "main", "s", "r", "rule.x", "It deletes.", f"rm {number}", 1.0, 9_000.0)


@pytest.fixture
def store(tmp_path: Path) -> FileNonces:
    found = FileNonces(tmp_path)
    for number in range(3):
        found.present(request(number), 1.0 + number)
    assert len(found.entries()) == 3
    return found


def change(store: FileNonces, **members: Any) -> str:
    """Writes these members into the first entry, as another program would. Returns its nonce."""
    stored = json.loads(store.path.read_bytes())
    stored["entries"][0] |= members
    store.path.write_text(json.dumps(stored, separators=(",", ":")))
    return str(stored["entries"][0]["nonce"])


@pytest.mark.parametrize(
    "members", [{"status": "approved", "decided": 2.0}, {"reason": "harmless"}, {"expires": 1e9}, {"new": 1}]
)
def test_an_entry_that_was_changed_is_not_believed(store: FileNonces, members: dict[str, Any]) -> None:
    before = store.path.read_bytes()
    nonce = change(store, **members)
    trusted, others = store.look()
    assert ([entry.nonce for entry in others], len(trusted)) == ([nonce], 2)
    assert store.present(request(0), 5.0).outcome == "pending"
    with pytest.raises(RefusedError):
        store.approve(nonce, PERSON, 6.0, 60.0)
    store.path.write_bytes(before)
    assert store.look()[1] == []


def test_a_ledger_that_was_put_back_is_not_believed(store: FileNonces) -> None:
    nonce = store.entries()[0].nonce
    store.approve(nonce, PERSON, 5.0, 60.0)
    approved = store.path.read_bytes()
    assert store.present(request(0), 6.0).outcome == "used"
    store.path.write_bytes(approved)
    assert store.present(request(0), 7.0).outcome == "pending"


def test_another_key_is_not_believed(tmp_path: Path, store: FileNonces) -> None:
    signing_key_file.path(tmp_path).unlink()
    stored = store.path.read_bytes()
    store.path.unlink()
    store.gateway_id()
    store.path.write_bytes(stored)
    assert [len(part) for part in store.look()] == [0, 3]


def test_what_another_process_decides_is_seen(tmp_path: Path, store: FileNonces) -> None:
    nonce = store.entries()[1].nonce
    FileNonces(tmp_path).approve(nonce, PERSON, 5.0, 60.0)
    assert store.present(request(1), 6.0).outcome == "used"
    assert FileNonces(tmp_path).present(request(1), 7.0).outcome == "pending"


def test_entries_that_are_gone_are_forgotten(store: FileNonces) -> None:
    for number in range(3, 60):
        store.present(request(number), 5.0 + number)
        store.settle(store.entries()[-1].nonce, "denied", PERSON, 5.0 + number)
    store.sweep(1e7)
    store.sweep(2e7)
    assert store.entries() == []
    assert not store._known._entries
