"""The audit log: whatever is changed in it is found, and whatever happens to its writers is not lost."""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from multiprocessing.synchronize import Event
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import ALL, examples
from toolguard_engine.stores import audit_log as audit_lines
from toolguard_engine.stores import disk, locked
from toolguard_engine.stores.files import audit_log_file as audit_log
from toolguard_engine.stores.files import signing_key_file as signing_key
from toolguard_engine.stores.files.audit_log_file import FIRST, AuditEvent, AuditLog, Verification
from toolguard_engine.stores.locked import StoreError

LINES = 10
fork = multiprocessing.get_context("fork")


def event(number: int, **more: str) -> AuditEvent:
    time, shown = audit_log.when(1_000 + number), f"rm -rf {number}"
    made = AuditEvent(f"e{number:05}", time, "hold", nonce=f"{number:08x}", tool="exec", shown=shown)
    return msgspec.structs.replace(made, **more)


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "state")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> AuditLog:
    """A log of ten lines, for tests that put back what they change."""
    log = AuditLog(tmp_path_factory.mktemp("written"))
    for number in range(LINES):
        log.append([event(number)])
    return log


def head(log: AuditLog) -> Path:
    return log.path.with_name("audit.head")


def ids(log: AuditLog) -> list[str]:
    return [str(found["id"]) for found in log.events()]


def verified_as(log: AuditLog, data: bytes) -> Verification:
    """What `verify` says of the log with this content."""
    before = log.path.read_bytes()
    log.path.write_bytes(data)
    try:
        return log.verify()
    finally:
        log.path.write_bytes(before)


def test_the_chain(log: AuditLog) -> None:
    assert log.verify() == Verification(0)
    log.append([])
    log.close_torn_line()
    assert not log.path.exists()
    log.append([event(1), event(2)])
    log.append([event(3)])
    prev = FIRST
    for number, line in enumerate(log.path.read_bytes().splitlines(), 1):
        parsed = msgspec.json.decode(line)
        assert (parsed["seq"], parsed["prev"], parsed["id"]) == (number, prev, f"e{number:05}")
        body, _, end = line.rpartition(b',"hash":"')
        prev = sha256(body + b"}").hexdigest()
        assert end == prev.encode() + b'"}'
    assert log.verify() == Verification(3)
    assert log.path.stat().st_mode & 0o777 == 0o600
    assert head(log).stat().st_mode & 0o777 == 0o600
    assert list(msgspec.json.decode(log.path.read_bytes().splitlines()[0])) == [
        "seq", "prev", "id", "time", "event", "nonce", "tool", "shown", "hash",
    ]  # fmt: skip


def test_when() -> None:
    assert audit_log.when(0) == "1970-01-01T00:00:00.000Z"
    assert audit_log.when(1_700_000_000.5) == "2023-11-14T22:13:20.500Z"


def test_the_same_event_is_written_once(log: AuditLog) -> None:
    log.append([event(1), event(1), event(2)])
    log.append([event(2), event(3)])
    AuditLog(log.path.parent.parent).append([event(1), event(3)])
    assert ids(log) == ["e00001", "e00002", "e00003"]
    assert log.known(["e00001", "e00003", "e00004", "e0000"]) == {"e00001", "e00003"}
    assert log.ids_since(0) == {"e00001", "e00002", "e00003"}
    assert log.verify() == Verification(3)


def test_known_looks_everywhere(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "MAX_BYTES", 2_000)
    monkeypatch.setattr(audit_log, "TAIL", 600)
    for number in range(40):
        log.append([event(number)])
    assert len(log.files()) > 3
    assert log.known([f"e{number:05}" for number in range(45)]) == {f"e{number:05}" for number in range(40)}


@settings(max_examples=examples(400))
@given(data=st.data())
def test_any_changed_byte_is_found(written: AuditLog, data: st.DataObject) -> None:
    before = written.path.read_bytes()
    place = data.draw(st.integers(0, len(before) - 1))
    byte = data.draw(st.integers(0, 255) | st.sampled_from(list(b'\n"}\\, 0')))
    found = verified_as(written, before[:place] + bytes([byte]) + before[place + 1 :])
    assert bool(found.error) is (before[place] != byte)
    if found.error:
        assert found.line in (before[:place].count(b"\n") + 1, before[:place].count(b"\n") + 2)
        assert found.file == "audit.jsonl"


@settings(max_examples=examples(300))
@given(data=st.data())
def test_lines_removed_swapped_doubled_or_put_in(written: AuditLog, data: st.DataObject) -> None:
    lines = written.path.read_bytes().splitlines(keepends=True)
    change = data.draw(st.sampled_from(["remove", "swap", "double", "insert", "several", "reverse"]))
    at, other = data.draw(st.integers(0, LINES - 1)), data.draw(st.integers(0, LINES - 1))
    changed = list(lines)
    if change == "remove":
        del changed[at]
    elif change == "several":
        del changed[min(at, other) : max(at, other) + 1]
    elif change == "swap":
        changed[at], changed[other] = changed[other], changed[at]
    elif change == "reverse":
        changed.reverse()
    elif change == "double":
        changed.insert(other, changed[at])
    else:
        alone = audit_log.chained(event(99), other + 1, FIRST)[0]
        linked = audit_log.chained(event(99), other + 1, msgspec.json.decode(lines[at])["prev"])[0]
        new = st.sampled_from([b"\n", b"{}\n", b"\r\n", b"\xff\n", b"\x00" * 50 + b"\n", alone, linked])
        changed.insert(at, data.draw(new))
    assert bool(verified_as(written, b"".join(changed)).error) is (changed != lines)


def test_a_chain_that_was_made_anew_is_found(written: AuditLog) -> None:
    for kept in range(LINES + 1):  # the key is not needed for a chain, but for the head
        data, prev = b"".join(written.path.read_bytes().splitlines(keepends=True)[:kept]), FIRST
        prev = msgspec.json.decode(data.splitlines()[-1])["hash"] if kept else FIRST
        for number in range(kept, LINES + 3):
            line, prev = audit_log.chained(event(number, by="somebody else"), number + 1, prev)
            data += line
        found = verified_as(written, data)
        assert found.error == ("" if kept == LINES else f"line {LINES} is not the one that was written")


def test_a_log_that_ends_early(tmp_path: Path) -> None:
    made = AuditLog(tmp_path / "made")
    made.append([event(number) for number in range(3)])
    whole = made.path.read_bytes()
    ends = [match.end() for match in re.finditer(rb"\n", whole)]
    for cut in range(len(whole)):
        made.path.write_bytes(whole[:cut])
        found = made.verify()
        count = whole[:cut].count(b"\n")
        assert found.lines == count
        line = 0 if cut in (0, *ends) else count + 1
        assert (found.error, found.line) == (f"the end is missing: there were 3 lines, and {count} are left", line)


@pytest.mark.parametrize("back", [1, 2, 30, 200, 300, 400, 10_000])
def test_what_was_cut_off_stays_reported(log: AuditLog, back: int) -> None:
    for number in range(3):
        log.append([event(number)])
    whole = log.path.read_bytes()
    log.path.write_bytes(whole[: max(0, len(whole) - back)])
    assert log.verify().error
    log.close_torn_line()
    if back == 1:  # only the line end was missing
        assert log.path.read_bytes() == whole
        assert log.verify() == Verification(3)
        return
    if back < 10_000:
        assert log.verify().error
    for number in range(3, 1_200 if back == 2 else 9):  # and is not forgotten, however long the log goes on
        log.append([event(number)])
    assert "lines were removed" in log.verify().error


def test_a_log_that_was_taken_away_stays_reported(log: AuditLog) -> None:
    log.append([event(1), event(2)])
    log.path.unlink()
    assert log.verify().error == "the end is missing: there were 2 lines, and 0 are left"
    log.append([event(3)])
    assert "lines were removed" in log.verify().error


def test_a_last_line_that_was_exchanged_stays_reported(log: AuditLog) -> None:
    log.append([event(1), event(2)])
    first, known = log.path.read_bytes().splitlines(keepends=True)[0], head(log).read_bytes()
    other = audit_log.chained(event(2, by="else"), 2, msgspec.json.decode(first)["hash"])
    third = audit_log.chained(event(3), 3, other[1])[0]
    for data in (first + other[0], first + other[0] + third):
        log.path.write_bytes(data)
        log.append([event(9)])
        assert log.verify().error
        head(log).write_bytes(known)


@pytest.mark.thorough
def test_half_a_line_of_a_killed_writer(tmp_path: Path) -> None:
    """Killed at every byte of what it wrote; the head does not know of it."""
    log = AuditLog(tmp_path / "state")
    log.append([event(1)])
    before, known = log.path.read_bytes(), head(log).read_bytes()
    log.append([event(2), event(3)])
    whole = log.path.read_bytes()
    for cut in range(len(before), len(whole) + 1, 1):
        log.path.write_bytes(whole[:cut])
        head(log).write_bytes(known)
        torn = whole[cut - 1 : cut] != b"\n"
        assert bool(log.verify().error) is torn
        log.append([event(2), event(3), event(4)])
        found = log.verify()
        assert found.error == ""
        names = [name for name in ids(log) if not name.startswith("recovered")]
        assert names == ["e00001", "e00002", "e00003", "e00004"]
        complete = whole[cut : cut + 1] == b"\n"  # nothing was missing but the end of the line
        assert found.recovered == (torn and not complete)


@pytest.mark.parametrize("garbage", [b"\n", b"\n\n\n", b"\x00" * 5_000, b"{}\n{}\n{", b"x\n" * 50_000, b"y" * 200_000])
def test_whatever_was_left_at_the_end(log: AuditLog, garbage: bytes) -> None:
    log.append([event(1)])
    with log.path.open("ab") as file:
        file.write(garbage)
    assert log.verify().error == "the last line is cut off"
    assert log.verify().line == 2
    log.close_torn_line()
    assert log.verify() == Verification(2, recovered=1)
    log.close_torn_line()
    log.append([event(2)])
    assert log.verify() == Verification(3, recovered=1)


def test_killed_again_while_recovering(log: AuditLog) -> None:
    log.append([event(1)])
    for left in (b'{"seq":2,"pr', b'\n{"seq":2,"prev":"00', b"\n", b'{"seq":2'):
        with log.path.open("ab") as file:
            file.write(left)
    log.append([event(2)])
    assert log.verify() == Verification(3, recovered=1)


def test_long_lines(log: AuditLog) -> None:
    for number in range(4):
        log.append([event(number, shown="x" * 3 * audit_log.TAIL)])
        log.append([event(number, shown="x" * 3 * audit_log.TAIL)])
    assert log.verify() == Verification(4)
    with log.path.open("r+b") as file:
        file.seek(-audit_log.TAIL, os.SEEK_END)
        file.truncate()
    head(log).unlink()
    log.append([event(4)])
    assert log.verify() == Verification(6, recovered=1, gaps=1)


def test_a_disk_that_takes_only_a_part(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append([event(1)])
    write = os.write
    room = [150]

    def full(handle: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        taken = write(handle, data[: room[0]])
        room[0] -= taken
        return taken

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StoreError, match="No space left"):
            log.append([event(2), event(3)])
    log.append([event(2), event(3)])
    assert log.verify() == Verification(4, recovered=1)
    assert [name for name in ids(log) if name[0] == "e"] == ["e00001", "e00002", "e00003"]


def test_rotation(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "MAX_BYTES", 1_500)
    monkeypatch.setattr(audit_log, "KEPT", 100)
    for number in range(60):
        log.append([event(number)])
        log.append([event(number)])
        assert log.verify() == Verification(number + 1)
    parts = [part for part in log.files() if part.stat().st_size]
    assert len(parts) > 8
    assert ids(log) == [f"e{number:05}" for number in range(60)]
    for part in parts[:-1]:
        first = msgspec.json.decode(part.read_bytes().splitlines()[0])["seq"]
        assert part.name == f"audit.{first}.jsonl"
        assert part.stat().st_mode & 0o777 == 0o600
    for part in parts:  # each part is needed, and nothing in it may change
        data = part.read_bytes()
        for change in (None, data.replace(b"rm -rf", b"ls -rf", 1), data.split(b"\n", 1)[1], data[:-1]):
            part.unlink() if change is None else part.write_bytes(change)
            assert log.verify().error, (part.name, change)
            part.write_bytes(data)
    assert log.verify() == Verification(60)


def test_retention(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "MAX_BYTES", 1_500)
    monkeypatch.setattr(audit_log, "KEPT", 2)
    for number in range(40):
        log.append([event(number)])
        assert log.verify().error == ""
        assert len(log.files()) <= 4  # one more until the next line
    assert ids(log)[-1] == "e00039"
    assert "e00000" not in ids(log)
    (removal, *_) = [each for each in log.events() if each["event"] == "segment-removed"]
    assert re.fullmatch(r"audit\.\d+\.jsonl, up to line \d+, [0-9a-f]{64}", removal["reason"])
    log.append([event(40)])
    log.files()[0].unlink()  # by somebody else
    found = log.verify()
    assert (found.error, found.file, found.line) == (audit_log.NOT_LINKED, log.files()[0].name, 1)


def test_killed_before_the_oldest_part_is_removed(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is removed after the next rotation."""
    monkeypatch.setattr(audit_log, "MAX_BYTES", 1_500)
    monkeypatch.setattr(audit_log, "KEPT", 2)
    with monkeypatch.context() as patched:
        patched.setattr(disk, "remove", lambda _: None)
        for number in range(40):
            log.append([event(number)])
        assert len(log.files()) > 4
        assert log.verify().error == ""
    for number in range(40, 80):
        log.append([event(number)])
        assert log.verify().error == ""
    assert len(log.files()) <= 4


def test_a_part_of_what_is_being_written_is_no_damage(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the one who writes keeps the lock."""
    log.append([event(1)])
    real = AuditLog._verify
    seen = [Verification(1, "it is broken")]
    monkeypatch.setattr(AuditLog, "_verify", lambda self: seen.pop() if seen else real(self))
    monkeypatch.setattr(locked, "LOCK_SECONDS", 0.02)
    with locked.lock(log.path):
        assert log.verify() == Verification(1)


def test_two_that_write_the_same_line_while_the_log_is_rotated(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first fills a part with it; the second knows the log only as it was before."""
    with monkeypatch.context() as patched:
        patched.setattr(audit_log, "MAX_BYTES", 300)
        log.append([event(1), event(2)])
    assert not log.path.exists()
    log.append([event(3)])
    log.append([event(2), event(4)])
    assert ids(log) == [event(number).id for number in (1, 2, 3, 4)]


def test_a_head_that_cannot_be_looked_at_is_not_a_lost_one(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(path: Path) -> os.stat_result:
        if path == head(log):
            raise OSError(5, "Input/output error")
        return os.lstat(path)

    with monkeypatch.context() as patched:
        patched.setattr(disk, "look_at_link", faulty)
        with pytest.raises(StoreError, match="Input/output error"):
            log.append([event(1)])
    log.append([event(1)])
    assert ids(log) == [event(1).id]


def test_half_a_line_after_a_rotation(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "MAX_BYTES", 300)
    log.append([event(1), event(2)])
    assert not log.path.exists()
    log.path.write_bytes(b'{"seq":3,"pr')
    log.append([event(3)])
    assert log.verify() == Verification(4, recovered=1)


def test_rotation_of_a_log_that_was_changed(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append([event(1), event(2)])
    log.path.write_bytes(b"garbage\n" + log.path.read_bytes())
    monkeypatch.setattr(audit_log, "MAX_BYTES", 300)
    for number in range(3, 9):
        log.append([event(number)])
    assert ids(log) == [f"e{number:05}" for number in range(1, 9)]
    assert (log.verify().error, log.verify().line) == ("it is broken", 1)


def appending(state: Path, seat: int, times: int, seen: Event) -> None:
    log = AuditLog(state)
    for number in range(times):
        if number == times // 2:
            seen.wait()
        log.append([event(number, id=f"{seat}-{number}")])


def test_a_line_that_is_being_written_is_no_damage(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append([event(1), event(2)])
    lines = log.path.read_bytes().splitlines(keepends=True)

    @contextmanager
    def writing(path: Path) -> Iterator[None]:
        """The writer has the lock, and goes on when somebody waits for it."""
        with path.open("ab") as file:
            file.write(lines[1][20:])
        yield

    log.path.write_bytes(lines[0] + lines[1][:20])
    assert log.verify().error != ""
    monkeypatch.setattr(audit_log, "lock", writing)
    assert log.verify() == Verification(2)


@pytest.mark.usefixtures("patient_locks")
def test_two_processes(log: AuditLog) -> None:
    state = log.path.parent.parent
    each = 500 if ALL else 120
    seen = fork.Event()
    writers = [fork.Process(target=appending, args=(state, seat, each, seen)) for seat in range(2)]
    for writer in writers:
        writer.start()
    while not head(log).exists():
        pass
    while any(writer.is_alive() for writer in writers):
        assert log.verify().error == ""  # also while it grows
        seen.set()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert log.verify() == Verification(2 * each)
    assert sorted(ids(log)) == sorted(f"{seat}-{number}" for seat in range(2) for number in range(each))


HOSTILE = [
    "a\nb\r\nc\x0b\x0c\x1c\x85\u2028\u2029d",
    f'","hash":"{"0" * 64}"}}\n{{"seq":1}}',
    f',"hash":"{"0" * 64}"}}',
    '\\","id":"e00001',
    '"id":"e00001"',
    "\u202erm -rf /\u202c \u2066x\u2069 \u200b\ufeff\u061c",
    "\x1b[2J\x1b]0;owned\x07 \x9b31m \x7f\x08",
    "\U0001f600 \U000e0041 \ue000 \u00e9",
    "half \ud800 a pair \udc80",
    "x" * 3_000,
    "\x00",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:12]))
def test_hostile_texts(log: AuditLog, text: str) -> None:
    names = [name for name in AuditEvent.__struct_fields__ if name != "time"]
    hostile = AuditEvent(time=audit_log.when(0), **dict.fromkeys(names, text))
    for _ in range(2):
        log.append([event(1), hostile, event(2), hostile])
    assert log.verify() == Verification(3)
    data = log.path.read_bytes()
    assert re.fullmatch(rb"[\x20-\x7e\n]+", data)[0].count(b"\n") == 3 if "\u00e9" not in text else True  # type: ignore[index]
    read = list(log.events())[1]
    assert {read[name] for name in names} == {text.encode(errors="replace").decode()}
    assert log.known([text]) == {text}


def test_what_somebody_typed() -> None:
    assert audit_lines.plain("fine, go on") == "fine, go on"
    assert audit_lines.plain("a\nb\x1b[2J\u202ec\udc80") == "a b<U+001B>[2J<U+202E>c<U+DC80>"
    assert audit_lines.plain("token=ghp_0123456789abcdefghij0123456789") == "token=[redacted]"
    assert len(audit_lines.plain("x" * 100_000)) < audit_lines.MAX_WHY + 40


def _gone(path: Path) -> None:
    path.unlink()


def _of(data: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(data)

    return write


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_gone, "audit.head is missing"),
        (_of(b""), "audit.head cannot be read"),
        (_of(b"\xff"), "audit.head cannot be read"),
        (_of(b'{"seq":3}'), "audit.head cannot be read"),
        (_of(b'{"seq":1,"hash":"","mac":""}'), "audit.head is not signed with our key"),
        (_of(b'{"seq":1,"hash":"","mac":"\xd9\xa1"}'), "audit.head is not signed with our key"),
    ],
)
def test_a_head_that_is_not_ours(log: AuditLog, change: Callable[[Path], None], expected: str) -> None:
    log.append([event(1), event(2)])
    change(head(log))
    assert log.verify().error.startswith(expected)
    log.append([event(3)])
    assert log.verify() == Verification(4, gaps=1)


@pytest.mark.parametrize("kept", [0, 1])
def test_lines_that_are_cut_off_with_a_foreign_head_are_noted(log: AuditLog, kept: int) -> None:
    log.append([event(count) for count in range(1, 6)])
    log.path.write_bytes(b"".join(log.path.read_bytes().splitlines(keepends=True)[:kept]))
    _of(b'{"seq":5,"hash":"","mac":""}')(head(log))
    log.append([event(9)])
    assert (log.verify().error, log.verify().gaps) == ("", 1)


def test_another_key(log: AuditLog) -> None:
    log.append([event(1)])
    own = signing_key.path(log.path.parent.parent)
    own.unlink()
    log.close_torn_line()
    with pytest.raises(signing_key.SigningKeyError, match="No such file"):
        log.verify()
    assert not own.exists()
    signing_key.load(log.path.parent.parent)
    assert log.verify().error == "audit.head is not signed with our key"
    signing_key.path(log.path.parent.parent).chmod(0o644)
    with pytest.raises(StoreError):
        log.verify()
    with pytest.raises(StoreError):
        log.append([event(2)])
    assert ids(log) == ["e00001"]


def test_what_is_no_file_is_named_and_not_waited_for(log: AuditLog) -> None:
    log.append([event(1)])
    assert log.odd() == []
    head(log).unlink()
    os.mkfifo(head(log))
    with pytest.raises(StoreError, match="is not a file"):
        log.verify()
    log.path.unlink()
    log.path.mkdir()
    assert log.odd() == [log.path, head(log)]
    assert log.files() == []


def test_half_a_line_hides_no_missing_end(log: AuditLog) -> None:
    log.append([event(1), event(2)])
    log.path.write_bytes(log.path.read_bytes()[:-7])
    assert log.verify().error == "the end is missing: there were 2 lines, and 1 are left"


def test_the_head_may_lag_behind(log: AuditLog) -> None:
    log.append([event(1)])
    old = head(log).read_bytes()
    log.append([event(2), event(3)])
    head(log).write_bytes(old)  # killed before it was written
    assert log.verify() == Verification(3)
    log.append([event(4)])
    assert log.verify() == Verification(4)


def test_no_place_for_it(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "state")
    log.path.mkdir(parents=True)
    for ask in (lambda: log.append([event(1)]), log.verify):
        with pytest.raises(StoreError):
            ask()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        AuditLog(tmp_path / "file").append([event(1)])


def test_a_lost_head_is_told_for_ever(log: AuditLog) -> None:
    for number in range(4):
        log.append([event(number)])
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join(lines[:2]))
    (log.path.parent / audit_log.HEAD).unlink()
    assert log.verify().error != ""
    log.append([event(9)])
    log.append([event(10)])
    assert [line["event"] for line in log.events()].count(audit_log.LOST) == 1
    assert log.verify() == Verification(5, gaps=1)


@pytest.mark.parametrize("garbage", [b"[" * 50_000, b'{"seq":' * 20_000], ids=["lists", "objects"])
def test_garbage_without_bottom_is_half_a_line(tmp_path: Path, garbage: bytes) -> None:
    log = AuditLog(tmp_path)
    log.append([AuditEvent("id-1", audit_log.when(1), "hold")])
    with log.path.open("ab") as file:
        file.write(garbage)
    log.append([AuditEvent("id-2", audit_log.when(2), "hold")])
    assert [event["event"] for event in log.events()] == ["hold", "recovered", "hold"]
    assert log.verify() == Verification(3, recovered=1)


def test_a_pipe_in_place_of_the_log_is_refused(tmp_path: Path) -> None:
    """Opening one without a writer would hang."""
    log = AuditLog(tmp_path)
    log.path.parent.mkdir()
    os.mkfifo(log.path)
    with pytest.raises(StoreError, match="is not a file; run `toolguard doctor --fix`"):
        log.append([AuditEvent("a", "2026-01-01T00:00:00.000Z", "hold")])
    with pytest.raises(OSError, match="it is not a file"):
        log.known(["a"])
