"""Held calls on disk: what a person said counts once, what nobody signed does not count, and the log hears of all of it."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolguard_engine.approvals.ledger import Decision, HeldCall, RefusedError
from toolguard_engine.stores import atomic
from toolguard_engine.stores.files import audit_log_file as audit_log
from toolguard_engine.stores.files import nonces
from toolguard_engine.stores.files import signing_key_file as signing_key
from toolguard_engine.stores.files.audit_log_file import AuditLog, Verification
from toolguard_engine.stores.files.nonces import FileNonces
from toolguard_engine.stores.locked import Damaged, StoreError

NOW = 1_000_000.0
ANNA = Decision("anna", "cli", "looks right")
fork = multiprocessing.get_context("fork")


def request(call: str = "call", now: float = NOW) -> HeldCall:
    return HeldCall(
        nonce="", binding=call, tool="exec", agent="main", session="agent:main:main", run="run-1", code="tool.exec",
        reason="exec asks a person", shown="rm -rf build", created=now, expires=now + 300,
    )  # fmt: skip


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def store(state: Path) -> FileNonces:
    return FileNonces(state, gateway="gw")


def logged(state: Path) -> list[str]:
    """The events in the audit log, in their order."""
    return [event["event"] for event in AuditLog(state).events()]


def held(store: FileNonces, call: str = "call") -> str:
    return store.present(request(call), NOW).entry.nonce


def approved(store: FileNonces, call: str = "call") -> str:
    return store.approve(held(store, call), ANNA, NOW, 30).nonce


def edit(store: FileNonces, change: Callable[[dict[str, Any]], object]) -> None:
    """Somebody writes the file who does not have the key."""
    value = msgspec.json.decode(store.path.read_bytes())
    change(value)
    store.path.write_bytes(msgspec.json.encode(value))


def test_once(store: FileNonces, state: Path) -> None:
    first = store.present(request(), NOW)
    assert (first.outcome, first.fresh) == ("pending", True)
    assert len(first.entry.nonce) == 8
    again = store.present(request(), NOW + 1)
    assert (again.outcome, again.fresh, again.entry.nonce) == ("pending", False, first.entry.nonce)
    assert store.approve(first.entry.nonce[:4], ANNA, NOW + 2, 30).status == "approved"
    used = FileNonces(state).present(request(), NOW + 3)
    assert (used.outcome, used.entry.nonce) == ("used", first.entry.nonce)
    second = store.present(request(), NOW + 3)
    assert (second.outcome, second.fresh) == ("pending", True)
    assert second.entry.nonce != first.entry.nonce
    assert logged(state) == ["hold", "approve", "consume", "hold"]
    assert [(entry.nonce, entry.status) for entry in store.entries()] == [
        (first.entry.nonce, "used"),
        (second.entry.nonce, "pending"),
    ]
    assert AuditLog(state).verify() == Verification(4)


def test_a_binding_of_the_former_format_counts_until_it_expires(store: FileNonces) -> None:
    nonce = approved(store)
    used = store.present(request("new"), NOW + 1, former=("call",))
    assert (used.outcome, used.entry.nonce) == ("used", nonce)
    again = store.present(request("new"), NOW + 1, former=("call",))
    assert (again.outcome, again.fresh, again.entry.binding) == ("pending", True, "new")
    store.deny(held(store, "old"), ANNA, NOW + 1, 300)
    assert store.present(request("newer"), NOW + 2, former=("old",)).outcome == "denied"
    assert store.present(request("newer", NOW + 400), NOW + 400, former=("old",)).fresh


def test_each_installation_has_an_id_of_its_own(store: FileNonces, tmp_path: Path) -> None:
    assert store.gateway_id() == FileNonces(tmp_path / "state").gateway_id()
    assert store.gateway_id() != FileNonces(tmp_path / "other").gateway_id()


def test_the_id_never_makes_a_new_key_for_old_entries(store: FileNonces, state: Path) -> None:
    held(store)
    signing_key.path(state).unlink()
    with pytest.raises(StoreError, match="is missing, though it has signed"):
        store.gateway_id()


def test_what_the_log_says(store: FileNonces, state: Path) -> None:
    nonce = approved(store)
    lines = list(AuditLog(state).events())
    about = {
        "nonce": nonce, "code": "tool.exec", "tool": "exec", "agent": "main", "session": "agent:main:main", "run": "run-1",
        "reason": "exec asks a person", "shown": "rm -rf build", "gateway": "gw", "time": audit_log.when(NOW),
    }  # fmt: skip
    whose = {"by": "anna", "where": "cli", "why": "looks right"}
    for line, expected in zip(lines, ({"event": "hold"}, {"event": "approve", **whose}), strict=True):
        told_of = {name: value for name, value in line.items() if name not in ("seq", "prev", "hash", "id")}
        assert told_of == {**about, **expected}


def test_another_call_is_not_let_through(store: FileNonces) -> None:
    approved(store)
    assert store.present(request("call2"), NOW).outcome == "pending"
    assert store.present(request(), NOW).outcome == "used"


def test_too_late(store: FileNonces, state: Path) -> None:
    nonce = approved(store)
    late = store.present(request(now=NOW + 30), NOW + 30)
    assert (late.outcome, late.fresh) == ("pending", True)
    with pytest.raises(RefusedError, match="expired"):
        store.approve(nonce, ANNA, NOW + 30, 30)
    store.sweep(NOW + 331)
    with pytest.raises(RefusedError, match="expired"):
        store.approve(late.entry.nonce, ANNA, NOW + 331, 30)
    assert logged(state) == ["hold", "approve", "lapsed", "hold", "expire"]


def test_no(store: FileNonces, state: Path) -> None:
    nonce = held(store)
    store.deny(nonce, ANNA, NOW + 1, 300)
    answer = store.present(request(), NOW + 2)
    assert (answer.outcome, answer.entry.why) == ("denied", "looks right")
    with pytest.raises(RefusedError, match="denied"):
        store.approve(nonce, ANNA, NOW + 2, 30)
    assert store.present(request(now=NOW + 301), NOW + 301).fresh
    taken_back = approved(store, "other")
    store.deny(taken_back, ANNA, NOW, 300)
    assert store.present(request("other"), NOW + 1).outcome == "denied"
    assert Counter(logged(state)) == {"hold": 3, "deny": 2, "approve": 1}


@pytest.mark.parametrize(
    ("status", "events"), [("used", ["approve", "consume"]), ("denied", ["deny"]), ("expired", ["expire"])]
)
def test_settling(store: FileNonces, state: Path, status: Any, events: list[str]) -> None:
    nonce = held(store)
    settled = store.settle(nonce, status, Decision("", "native"), NOW + 1)
    assert settled is not None
    assert settled.status == status
    assert store.settle(nonce, "used", Decision("", "native"), NOW + 1) is None
    assert logged(state) == ["hold", *events]


def test_nothing_happens_before_there_is_something(store: FileNonces, state: Path) -> None:
    store.sweep(NOW)
    assert store.entries() == []
    assert not state.exists()


def test_a_refusal_still_keeps_what_was_swept(store: FileNonces, state: Path) -> None:
    held(store)
    with pytest.raises(RefusedError, match="unknown"):
        store.approve("ffffffff" if held(store) != "ffffffff" else "00000000", ANNA, NOW + 300, 30)
    assert logged(state) == ["hold", "expire"]
    assert store.entries()[0].status == "expired"


def test_asking_again_writes_nothing(store: FileNonces, state: Path) -> None:
    held(store)
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (state / "toolguard").iterdir()}
    for _ in range(3):
        assert store.present(request(), NOW + 1).fresh is False
    after = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (state / "toolguard").iterdir()}
    changed = {path.name for path in after if after[path] != before[path]}
    assert changed <= {"nonces.json.lock", "audit.jsonl.lock"}


FORGERIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "status": lambda entry: entry.update(status="approved", decided=NOW, expires=NOW + 31),
    "binding": lambda entry: entry.update(binding="other"),
    "expires": lambda entry: entry.update(expires=NOW + 1e9),
    "decided": lambda entry: entry.update(decided=NOW + 1),
    "by": lambda entry: entry.update(by="somebody else"),
    "no mac": lambda entry: entry.update(mac=""),
    "mac away": lambda entry: entry.pop("mac"),
    "mac in another script": lambda entry: entry.update(mac="\u0661" * 64),
    "half a mac": lambda entry: entry.update(mac=entry["mac"][:32]),
    "nonce": lambda entry: entry.update(nonce="0badc0de"),
}


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("yes", [False, True])
def test_what_nobody_signed(store: FileNonces, state: Path, name: str, yes: bool) -> None:  # noqa: FBT001
    if not yes and name == "decided":
        return
    (approved if yes else held)(store)
    edit(store, lambda file: FORGERIES[name](file["entries"][0]))
    forged = msgspec.json.decode(store.path.read_bytes())["entries"][0]
    assert store.entries() == []
    for _ in range(2):
        answer = store.present(request(forged["binding"]), NOW + 1)
        assert answer.outcome == "pending"
        assert answer.entry.nonce != forged["nonce"]
    with pytest.raises(RefusedError, match="unknown"):
        store.approve(forged["nonce"], ANNA, NOW + 1, 30)
    assert logged(state)[-2:] == ["forged", "hold"]
    assert logged(state).count("forged") == 1
    [line] = [event for event in AuditLog(state).events() if event["event"] == "forged"]
    assert (line["nonce"], line.get("by", ""), line["why"][:10]) == (forged["nonce"], "", "not signed")
    assert AuditLog(state).verify().error == ""


def test_an_entry_of_another_state_directory(store: FileNonces, state: Path, tmp_path: Path) -> None:
    held(store, "mine")
    other = FileNonces(tmp_path / "other")
    approved(other)
    theirs = msgspec.json.decode(other.path.read_bytes())["entries"]
    edit(store, lambda file: file["entries"].extend(theirs))
    assert store.present(request(), NOW + 1).outcome == "pending"
    assert logged(state) == ["hold", "forged", "hold"]


@pytest.mark.parametrize("then", ["pending", "approved"])
@pytest.mark.parametrize("end", ["used", "denied", "expired"])
def test_a_closed_entry_that_is_put_back(store: FileNonces, state: Path, then: str, end: str) -> None:
    """Its signature is ours; but the log knows that it was closed."""
    nonce = held(store)
    if then == "approved":
        store.approve(nonce, ANNA, NOW, 30)
    before = store.path.read_bytes()
    if then == "pending":
        store.approve(nonce, ANNA, NOW, 30)
    if end == "used":
        assert store.present(request(), NOW + 1).outcome == "used"
    elif end == "denied":
        store.deny(nonce, ANNA, NOW + 1, 5)
    else:
        store.sweep(NOW + 30)
    store.path.write_bytes(before)
    again = FileNonces(state)  # not only the process that closed it remembers
    answer = again.present(request(), NOW + 10)
    assert (answer.outcome, answer.fresh, answer.entry.nonce == nonce) == ("pending", True, False)
    assert logged(state)[-2:] == ["forged", "hold"]


def test_a_forged_line_for_the_log(store: FileNonces, state: Path) -> None:
    held(store)
    line = {"id": "00000000-approve", "time": audit_log.when(NOW), "event": "approve", "by": "the owner"}
    edit(store, lambda file: file["outbox"].append(line))
    FileNonces(state).sweep(NOW + 1)
    assert logged(state) == ["hold", "forged"]
    FileNonces(state).sweep(NOW + 1)
    approved(store, "next")
    assert logged(state) == ["hold", "forged", "hold", "approve"]


def test_hostile_entries(store: FileNonces, state: Path) -> None:
    """What somebody wrote into the store neither stops us nor gets its text into the log as it is."""
    held(store)
    text = '\u202e\x1b[2J","hash":"' + "x" * 5_000
    hostile = dict.fromkeys(("nonce", "tool", "agent", "session", "run", "code", "reason", "shown", "by", "mac"), text)
    wrong = {**hostile, "binding": "call", "created": -1e300, "expires": 1e300, "decided": 1e300, "status": "pending"}
    edit(store, lambda file: file.update(entries=[wrong]))
    assert store.present(request(), NOW + 1).outcome == "pending"
    FileNonces(state).sweep(NOW + 2)
    assert logged(state) == ["hold", "forged", "hold"]
    data = AuditLog(state).path.read_bytes()
    assert len(data) < 5_000
    assert data.isascii()
    assert AuditLog(state).verify() == Verification(3)


class Killed(BaseException):
    """As if the process had ended here."""


def test_a_crash_between_store_and_log(store: FileNonces, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nonce = approved(store)

    def crash(*_: object, **__: object) -> None:
        raise Killed

    for where in ("append", "_remember"):
        with monkeypatch.context() as patch:
            patch.setattr(AuditLog, where, crash)
            with pytest.raises(Killed):
                store.present(request(), NOW + 1)  # first the approval is used, then the next call is entered
    FileNonces(state).sweep(NOW + 2)
    assert logged(state) == ["hold", "approve", "consume", "hold"]
    assert [entry.status for entry in store.entries()] == ["used", "pending"]
    assert store.entries()[0].nonce == nonce
    FileNonces(state).sweep(NOW + 3)
    assert len(logged(state)) == 4
    assert AuditLog(state).verify().error == ""


def die_between(state: Path, where: str) -> None:
    setattr(AuditLog, where, lambda *_, **__: os.kill(os.getpid(), 9))
    FileNonces(state).present(request(), NOW + 1)


@pytest.mark.parametrize("where", ["append", "_append", "_new_lines", "_remember"])
def test_a_process_that_is_killed_there(store: FileNonces, state: Path, where: str) -> None:
    nonce = approved(store)
    process = fork.Process(target=die_between, args=(state, where))
    process.start()
    process.join()
    assert process.exitcode == -9
    assert [(entry.nonce, entry.status) for entry in store.entries()] == [(nonce, "used")]
    assert store.present(request(), NOW + 2).fresh
    assert logged(state) == ["hold", "approve", "consume", "hold"]
    assert AuditLog(state).verify() == Verification(4)


def test_a_log_that_cannot_be_written(store: FileNonces, state: Path) -> None:
    nonce = approved(store)
    log = AuditLog(state).path
    log.rename(log.with_name("away"))
    log.mkdir()
    assert store.present(request(), NOW + 1).outcome == "used"
    assert FileNonces(state).present(request(), NOW + 2).outcome == "pending"
    store.sweep(NOW + 500)
    log.rmdir()
    log.with_name("away").rename(log)
    FileNonces(state).sweep(NOW + 501)
    assert logged(state) == ["hold", "approve", "consume", "hold", "expire"]
    assert AuditLog(state).verify() == Verification(5)
    assert store.entries()[0].nonce == nonce


def test_a_line_is_not_written_again_while_the_log_cannot_be_read(
    store: FileNonces, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "MAX_BYTES", 300)  # each line fills a part
    nonce = held(store)

    def unreadable(*_: object) -> set[str]:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(AuditLog, "known", unreadable)
        FileNonces(state, gateway="gw").approve(nonce, ANNA, NOW, 30)
        FileNonces(state, gateway="gw").deny(nonce, ANNA, NOW, 30)
    held(FileNonces(state, gateway="gw"), "another call")
    assert Counter(logged(state)) == {"hold": 2, "approve": 1, "deny": 1}


def test_the_log_does_not_know_of_a_use_before_the_disk_does(
    store: FileNonces, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the approval looks like one that was put back if a power failure undoes the use."""
    held(store, "other")
    approved(store)

    def faulty(_: Path) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "sync_folder", faulty)
        with pytest.raises(StoreError, match="not confirmed"):
            store.present(request(), NOW)
        held(FileNonces(state, gateway="gw"), "other")
        assert "consume" not in logged(state)
    held(FileNonces(state, gateway="gw"), "other")
    assert logged(state).count("consume") == 1


def test_the_outbox_is_bounded(store: FileNonces, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nonces, "MAX_OUTBOX", 5)
    AuditLog(state).path.mkdir(parents=True)
    for number in range(9):
        held(store, f"call-{number}")
    assert len(msgspec.json.decode(store.path.read_bytes())["outbox"]) == 5
    AuditLog(state).path.rmdir()
    store.sweep(NOW + 1)
    assert logged(state) == ["hold"] * 5


def test_a_damaged_store_approves_nothing(store: FileNonces, state: Path) -> None:
    approved(store)
    data = store.path.read_bytes()
    store.path.write_bytes(data[: len(data) // 2])
    for ask in (lambda: store.present(request(), NOW + 1), store.entries, lambda: store.sweep(NOW)):
        store.path.touch()
        with pytest.raises(Damaged):
            ask()
    [kept] = [path for path in store.path.parent.iterdir() if "corrupt" in path.name]
    assert kept.read_bytes() == data[: len(data) // 2]
    kept.unlink()
    store.path.unlink(missing_ok=True)
    assert store.present(request(), NOW + 1).outcome == "pending"


def test_a_store_that_cannot_be_written_lets_nothing_through(store: FileNonces, monkeypatch: pytest.MonkeyPatch) -> None:
    approved(store)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("toolguard_engine.stores.atomic.replace", full)
        with pytest.raises(StoreError, match="No space left"):
            store.present(request(), NOW + 1)
    assert store.present(request(), NOW + 2).outcome == "used"


def test_a_new_key_means_that_nothing_is_approved(store: FileNonces, state: Path) -> None:
    nonce = approved(store)
    (state / "toolguard" / "key").write_bytes(b"k" * 32)
    assert store.entries() == []
    answer = store.present(request(), NOW + 1)
    assert (answer.outcome, answer.entry.nonce == nonce) == ("pending", False)
    assert "forged" in logged(state)


def test_a_path_of_ones_own(state: Path, tmp_path: Path) -> None:
    store = FileNonces(state, path=tmp_path / "elsewhere" / "approvals.json")
    approved(store)
    assert store.present(request(), NOW + 1).outcome == "used"
    assert (tmp_path / "elsewhere" / "approvals.json").exists()
    assert not (state / "toolguard" / "nonces.json").exists()
    assert logged(state) == ["hold", "approve", "consume"]


def test_each_nonce_is_new(store: FileNonces, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["aaaaaaaa", "aaaaaaaa", "aaaaaaaa", "bbbbbbbb"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(drawn))
    assert [held(store, "one"), held(store, "two")] == ["aaaaaaaa", "bbbbbbbb"]


def test_a_lost_key_is_told_and_not_replaced(store: FileNonces, state: Path) -> None:
    held(store)
    place = signing_key.path(state)
    kept = place.read_bytes()
    place.unlink()
    for work in (store.entries, lambda: store.present(request(now=NOW), NOW), lambda: store.approve("abcd", ANNA, NOW, 30)):
        with pytest.raises(signing_key.SigningKeyError, match="is missing, though it has signed 1 calls"):
            work()
        assert not place.exists()
    place.write_bytes(kept)
    place.chmod(0o600)
    assert [entry.status for entry in store.entries()] == ["pending"]


def test_what_cannot_be_shown_whole_needs_an_explicit_yes(store: FileNonces) -> None:
    nonce = store.present(msgspec.structs.replace(request(), whole=False), NOW).entry.nonce
    with pytest.raises(RefusedError, match="unseen"):
        store.approve(nonce, ANNA, NOW, 30)
    assert store.approve(nonce, ANNA, NOW, 30, unseen=True).status == "approved"
