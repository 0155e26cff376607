"""A large ledger is not replaced for one entry, and whatever ends a writer leaves what was acknowledged."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from power_loss import FailingDisk
from toolguard_engine.approvals.approval_window import EndMove
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.stores import atomic, disk
from toolguard_engine.stores.files import ledger_file, signing_key_file
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.ledger_file import StoredLedger
from toolguard_engine.stores.files.nonces import FileNonces
from toolguard_engine.stores.locked import Damaged, LockedFile, Newer

PERSON = Decision("ada", "cli")


def request(number: int) -> HeldCall:
    return HeldCall("", f"b{number}", "exec", "main", f"s{number}", "r", "rule.x", "It deletes.", f"rm {number}", 1.0, 9e9)


def seen(store: FileNonces) -> dict[str, str]:
    return {entry.binding: entry.status for entry in store.entries()}


def changed(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


@pytest.fixture
def least(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ledger has a journal."""
    monkeypatch.setattr(ledger_file, "LEAST", 0)


@pytest.fixture
def store(tmp_path: Path, least: None) -> FileNonces:
    """Three calls wait; the last two were entered in the journal."""
    found = FileNonces(tmp_path)
    for number in range(3):
        found.present(msgspec.structs.replace(request(number), reason="It deletes." + (not number) * " x" * 5_000), 2.0)
    assert journal(found).read_bytes().count(b"\n") == 3
    return found


def journal(store: FileNonces) -> Path:
    return store.path.with_name("nonces.journal")


def nonce(store: FileNonces, number: int) -> str:
    return next(entry.nonce for entry in store.entries() if entry.binding == f"b{number}")


def test_an_approval_writes_as_much_with_300_waiting_as_with_20(tmp_path: Path) -> None:
    store = FileNonces(tmp_path)
    written = []
    for number in range(300):
        store.present(msgspec.structs.replace(request(number), shown=f"rm {number} " + "x" * 4_000), 2.0)
        if number in (20, 299):
            size, (inode, moment) = journal(store).stat().st_size, changed(store.path)
            store.approve(nonce(store, number), PERSON, 3.0, 60.0)
            written.append(journal(store).stat().st_size - size)
            assert changed(store.path)[0] == inode
            assert changed(store.path)[1] > moment, "who watches the file sees it"
    assert 0 < written[1] < 1.1 * written[0] < 20_000
    assert FileNonces(tmp_path).entries() == store.entries()


def test_a_ledger_of_an_earlier_version_is_read_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "LEAST", 1 << 30)
    earlier = FileNonces(tmp_path)
    earlier.present(request(1), 2.0)
    assert msgspec.json.decode(earlier.path.read_bytes())["v"] == 1
    monkeypatch.setattr(ledger_file, "LEAST", 0)
    now = FileNonces(tmp_path)
    now.present(request(2), 2.0)
    now.approve(nonce(now, 1), PERSON, 3.0, 60.0)
    assert seen(earlier) == seen(FileNonces(tmp_path)) == {"b1": "approved", "b2": "pending"}
    monkeypatch.setattr(ledger_file, "LEAST", 1 << 30)
    now.deny(nonce(now, 2), PERSON, 4.0, 60.0)
    monkeypatch.undo()


class Earlier(msgspec.Struct):
    v: int = 1
    entries: list[msgspec.Raw] = []


def test_an_earlier_version_does_not_read_a_file_without_its_journal(store: FileNonces) -> None:
    with pytest.raises(Newer):
        LockedFile(store.path, Earlier).read()


def test_it_is_one_file_again_where_it_is_small(store: FileNonces, monkeypatch: pytest.MonkeyPatch) -> None:
    store.approve(nonce(store, 1), PERSON, 3.0, 60.0)
    monkeypatch.setattr(ledger_file, "LEAST", 30_000)
    for _ in range(200):
        store.move_ends([EndMove(nonce(store, 1), 50.0, "woken", "")], 4.0)
    assert msgspec.json.decode(store.path.read_bytes())["v"] == ledger_file.WHOLE
    assert seen(store) == seen(FileNonces(store.path.parent.parent)) == {"b0": "pending", "b1": "approved", "b2": "pending"}


def test_half_a_line_is_not_there_and_gives_way_to_the_next(store: FileNonces) -> None:
    before = journal(store).read_bytes()
    store.approve(nonce(store, 1), PERSON, 3.0, 60.0)
    after = journal(store).read_bytes()
    step = max(1, (len(after) - len(before)) // 40)
    for end in [*range(len(before), len(after), step), len(after) - 1]:
        journal(store).write_bytes(after[:end])
        for log in store.path.parent.glob("audit.*"):  # else what it says was closed is not believed to be open
            log.unlink()
        again = FileNonces(store.path.parent.parent)
        assert seen(again)["b1"] == "pending", end
        again.deny(nonce(again, 1), PERSON, 4.0, 60.0)
        assert seen(store)["b1"] == seen(FileNonces(store.path.parent.parent))["b1"] == "denied"


@pytest.mark.parametrize("garbage", [b"\0" * 100, b"\0" * 99 + b"\n", b"0" * 32 + b"{}\n"])
def test_what_a_power_failure_leaves_of_the_last_line_is_not_read(store: FileNonces, garbage: bytes) -> None:
    known, before = seen(store), journal(store).read_bytes()
    journal(store).write_bytes(before + garbage)
    again = FileNonces(store.path.parent.parent)
    assert seen(again) == known
    again.approve(nonce(again, 1), PERSON, 3.0, 60.0)
    assert seen(FileNonces(store.path.parent.parent)) == known | {"b1": "approved"}


def test_a_damaged_line_before_others_is_kept_and_nothing_is_approved(store: FileNonces) -> None:
    one = nonce(store, 1)
    store.deny(one, PERSON, 3.0, 60.0)
    lines = journal(store).read_bytes().split(b"\n")
    journal(store).write_bytes(b"\n".join([*lines[:2], lines[2].replace(b"rm 2", b"rm 9"), *lines[3:]]))
    again = FileNonces(store.path.parent.parent)
    for _ in range(2):
        with pytest.raises(Damaged):
            again.approve(one, PERSON, 4.0, 60.0)
    assert len([path for path in store.path.parent.iterdir() if ".corrupt-" in path.name]) == 2


def test_a_journal_of_another_file_is_not_read(store: FileNonces) -> None:
    old = journal(store).read_bytes()
    first = dict(list(seen(store).items())[:1])
    journal(store).write_bytes(b"0" * 32 + old[32:])
    again = FileNonces(store.path.parent.parent)
    assert seen(again) == first
    again.present(request(7), 3.0)
    assert seen(FileNonces(store.path.parent.parent)) == first | {"b7": "pending"}


def test_a_file_that_is_replaced_while_it_is_first_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read of the one is not taken for the content of the other."""
    monkeypatch.setattr(ledger_file, "LEAST", 0)
    reader, other = FileNonces(tmp_path), FileNonces(tmp_path)
    read = LockedFile.read

    def late(self: LockedFile[Any], **given: Any) -> Any:
        monkeypatch.setattr(LockedFile, "read", read)
        other.present(request(1), 2.0)
        value = read(self, **given)
        for number in (2, 3, 4):
            other.present(request(number), 2.0)
        return value

    monkeypatch.setattr(LockedFile, "read", late)
    reader.look()
    assert len(reader.look()[0]) == 4
    reader.present(request(5), 2.0)
    assert len(FileNonces(tmp_path).look()[0]) == 5


def test_what_a_killed_process_left_is_on_the_disk_before_the_log_has_it(
    store: FileNonces, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def killed(_: int) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(disk, "sync_content", killed)
        with pytest.raises(KilledError):
            store.approve(nonce(store, 1), PERSON, 3.0, 60.0)
    synced: list[int] = []
    sync = disk.sync_content
    monkeypatch.setattr(disk, "sync_content", lambda handle: (synced.append(disk.status(handle).st_ino), sync(handle))[1])
    log = AuditLog(store.path.parent.parent)
    FileNonces(store.path.parent.parent).present(request(2), 3.0)  # it waits already
    assert [event["event"] for event in log.events()].count("approve") == 1
    assert synced.index(journal(store).stat().st_ino) < synced.index(log.path.stat().st_ino)


def test_what_cannot_be_written_leaves_nothing(store: FileNonces, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    before, one = journal(store).read_bytes(), nonce(store, 1)
    monkeypatch.setattr(disk, "sync_content", full)
    with pytest.raises(Exception, match="No space left"):
        store.approve(one, PERSON, 3.0, 60.0)
    monkeypatch.undo()
    assert journal(store).read_bytes() == before
    assert seen(store)["b1"] == "pending"


@pytest.mark.parametrize("seed", range(4))
def test_it_holds_what_one_file_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Two processes on the same ledger, which becomes one file again and again, against a ledger that always is one."""
    chance, formats = random.Random(seed), set[int]()  # noqa: S311 - it draws no secret
    plain, two = FileNonces(tmp_path, tmp_path / "plain.json"), [FileNonces(tmp_path) for _ in range(2)]
    for step in range(60):
        monkeypatch.setattr(ledger_file, "LEAST", chance.choice([0, 0, 2_000]) if step > 5 else 1 << 30)
        one, at, number = chance.choice(two), 2.0 + step, chance.randrange(12)
        match chance.choice(["present", "present", "approve", "deny", "sweep"]):
            case "present":
                wanted = msgspec.structs.replace(request(number), expires=at + 20)
                assert plain.present(wanted, at, log=False).outcome == one.present(wanted, at, log=False).outcome
            case "sweep":
                plain.sweep(at)
                one.sweep(at)
            case verb:
                waiting = [entry.binding for entry in plain.entries() if entry.status == "pending" and at < entry.expires]
                if not waiting:
                    continue
                binding = chance.choice(waiting)
                for each in (plain, one):
                    found = next(e for e in each.entries() if e.binding == binding and e.status == "pending")
                    (each.approve if verb == "approve" else each.deny)(found.nonce, PERSON, at, 9.0)
        if one.path.exists():
            formats.add(msgspec.json.decode(one.path.read_bytes())["v"])
        found = [[(e.binding, e.status, e.expires) for e in each.entries()] for each in (plain, *two)]
        assert sorted(found[0]) == sorted(found[1]) == sorted(found[2])
    assert formats >= {ledger_file.WHOLE, ledger_file.JOURNALLED}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads synced files through /proc")
def test_no_decision_is_lost_in_a_power_failure(
    tmp_path: Path,
    least: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signing_key_file.load(tmp_path / "state")
    store = FileNonces(tmp_path / "state")
    store.present(request(0), 2.0, log=False)
    disk, told = FailingDisk(atomic.own_folder(tmp_path / "state"), monkeypatch), [seen(store)]
    for number in range(1, 5):
        store.present(request(number), 2.0, log=False)
        told.append(seen(store))
        disk.acknowledge()
        if number % 2:
            store.deny(nonce(store, number - 1), PERSON, 3.0, 60.0)
            told.append(seen(store))
            disk.acknowledge()
    monkeypatch.undo()
    assert len(disk.states) > 10
    for place, acknowledged in disk.left(tmp_path / "left"):
        after = seen(FileNonces(place.parent))
        assert after in told[acknowledged:]


def test_the_formats_are_in_order() -> None:
    assert StoredLedger().v == ledger_file.JOURNALLED > ledger_file.WHOLE == Earlier().v
