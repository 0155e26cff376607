"""A file that several processes change: what is damaged is kept and reported, and nobody ever sees half of one."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import filelock
import msgspec
import pytest

from toolguard_engine.stores import atomic, file_lock, locked
from toolguard_engine.stores.locked import Busy, Damaged, LockedFile, StoreError, corrupt_files

NOBODY = 65_534
PATIENCE = 120
"""Seconds until something counts as never coming."""
fork = multiprocessing.get_context("fork")


class Box(msgspec.Struct):
    count: int = 0
    text: str = ""
    items: list[int] = []
    v: int = 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "box.json"


@pytest.fixture
def box(path: Path) -> LockedFile[Box]:
    return LockedFile(path, Box)


def names(path: Path) -> list[str]:
    return sorted(found.name for found in path.parent.iterdir())


def change(box: LockedFile[Box]) -> Box:
    with box.locked():
        value = box.read()
        value.count += 1
        box.write(value)
    return value


def test_what_was_written_is_read(box: LockedFile[Box], path: Path) -> None:
    assert box.read() == Box()
    assert not path.exists()
    assert change(box) == change(box).__class__(1)
    assert LockedFile(path, Box).read() == Box(2)
    assert path.read_bytes() == b'{"count":2,"text":"","items":[],"v":1}'
    assert path.stat().st_mode & 0o777 == 0o600
    assert names(path) == ["box.json", "box.json.lock"]
    assert (path.parent / "box.json.lock").stat().st_mode & 0o777 == 0o600


def test_the_folder_is_made(tmp_path: Path) -> None:
    box = LockedFile(tmp_path / "a" / "b" / "box.json", Box)
    assert box.read() == Box()
    assert change(box) == Box(1)
    assert box.path.parent.stat().st_mode & 0o777 == 0o700


VALID = msgspec.json.encode(Box(7, "h\u00e4", [1, 2]))


@pytest.mark.parametrize(
    "data",
    [VALID[:end] for end in range(len(VALID))]
    + [b"\x00" * 4_096, b"\xff\xfe", b"null", b"[]", b"7", b'"text"', b"\n", VALID + b"}", VALID + VALID]
    + [b"[" * 100_000, b'{"count":"7"}', b'{"count":7.5}', b'{"items":{}}', b'{"items":[1,null]}', b'{"text":"\xff"}'],
    ids=lambda data: f"{len(data)}-{data[-8:]!r}",
)
def test_what_is_damaged_is_kept_and_stays_reported(box: LockedFile[Box], path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(Damaged, match=r"was damaged and is kept as box\.json\.corrupt-") as damaged, box.locked():
        box.read()
    assert damaged.value.code == "store.damaged"
    assert "toolguard doctor --fix" in str(damaged.value)
    [kept] = corrupt_files(path)
    assert kept.read_bytes() == data
    assert kept.name in str(damaged.value)
    assert names(path) == [kept.name, "box.json.lock"]
    for reader in (box, LockedFile(path, Box)):  # in another process too
        with pytest.raises(Damaged, match="is what is left of a damaged store"):
            reader.read()
    path.write_bytes(VALID)  # also when somebody puts a new one in its place
    with pytest.raises(Damaged):
        box.read()
    assert kept.read_bytes() == data
    kept.unlink()
    assert box.read() == Box(7, "h\u00e4", [1, 2])


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_bytes(b"x")


def _too_large(path: Path) -> None:
    with path.open("wb") as file:
        file.write(VALID)
        file.truncate(locked.MAX_BYTES + 1)


def _valid_but_too_large(path: Path) -> None:
    path.write_bytes(VALID + b" " * locked.MAX_BYTES)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [_folder, _too_large, _valid_but_too_large, os.mkfifo, _endless])
def test_what_is_no_file_of_ours(
    box: LockedFile[Box], path: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locked, "MAX_BYTES", 4_096)
    make(path)
    before = path.lstat()
    with pytest.raises(Damaged, match="is kept as"):
        box.read()
    [kept] = corrupt_files(path)
    assert (kept.lstat().st_ino, kept.lstat().st_size) == (before.st_ino, before.st_size)
    with pytest.raises(Damaged):
        box.read()


def test_several_are_kept_side_by_side(box: LockedFile[Box], path: Path) -> None:
    for number in (2, 1):
        path.with_name(f"box.json.corrupt-2026010{number}T000000-7").write_bytes(b"")
    path.with_name("other.json.corrupt-20260101T000000-7").write_bytes(b"")
    assert [kept.name for kept in corrupt_files(path)] == [
        "box.json.corrupt-20260101T000000-7",
        "box.json.corrupt-20260102T000000-7",
    ]
    with pytest.raises(Damaged, match="20260102"):
        box.read()


def test_put_aside_by_another_process_meanwhile(box: LockedFile[Box], path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def vanish(path: Path, _limit: int) -> bytes:
        path.with_name("box.json.corrupt-20260101T000000-7").write_bytes(b"")
        raise FileNotFoundError(path)

    monkeypatch.setattr(locked.atomic, "read_bounded", vanish)
    with pytest.raises(Damaged):
        box.read()


def test_more_than_can_be_read_again_is_not_written(
    box: LockedFile[Box], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(box)
    monkeypatch.setattr(locked, "MAX_BYTES", 1_000)
    box.write(Box(text="x" * 960))
    with pytest.raises(StoreError, match="too large to store"):
        box.write(Box(text="x" * 980))
    assert box.read() == Box(text="x" * 960)


def test_a_text_that_is_none_is_not_written(box: LockedFile[Box], path: Path) -> None:
    change(box)
    with pytest.raises(StoreError):
        box.write(Box(text="\udc80"))
    assert box.read() == Box(1)
    assert names(path) == ["box.json", "box.json.lock"]


@pytest.fixture
def powerless() -> Iterator[Path]:
    """A folder that we may read but not write, also where the tests run as root."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    (folder / "box.json").write_bytes(VALID)
    (folder / "box.json").chmod(0o644)
    folder.chmod(0o555)
    if root:
        os.seteuid(NOBODY)
    yield folder
    if root:
        os.seteuid(0)
    folder.chmod(0o700)
    shutil.rmtree(folder)


def test_a_folder_that_cannot_be_written(powerless: Path) -> None:
    box = LockedFile(powerless / "box.json", Box)
    assert box.read() == Box(7, "h\u00e4", [1, 2])
    with pytest.raises(StoreError, match="Permission denied") as refused:
        change(box)
    assert refused.value.code == "store.unavailable"
    with pytest.raises(StoreError, match="Permission denied"):
        box.write(Box())
    assert names(box.path) == ["box.json"]


def test_damage_in_a_folder_that_cannot_be_written(powerless: Path) -> None:
    with pytest.raises(Damaged, match="cannot be moved aside"):
        LockedFile(powerless / "box.json", Box, lambda *_: False).read()


def test_a_folder_that_cannot_be_looked_into(powerless: Path) -> None:
    os.seteuid(os.getuid())
    powerless.chmod(0o311)
    if os.getuid() == 0:
        os.seteuid(NOBODY)
    with pytest.raises(StoreError, match="Permission denied"):  # something corrupt may lie there
        LockedFile(powerless / "box.json", Box).read()


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    box = LockedFile(tmp_path / "file" / "box.json", Box)
    with pytest.raises(StoreError):
        box.read()
    with pytest.raises(StoreError):
        change(box)


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("elsewhere")])
def test_something_else_where_the_lock_belongs(box: LockedFile[Box], path: Path, make: Callable[[Path], None]) -> None:
    make(path.with_name("box.json.lock"))
    with pytest.raises(StoreError):
        change(box)
    assert not path.exists()
    assert not path.with_name("elsewhere").exists()


def hold(box: LockedFile[Box], ready: Path) -> None:
    with box.locked():
        ready.touch()
        time.sleep(60)


def test_a_lock_that_is_held(box: LockedFile[Box], path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked, "LOCK_SECONDS", 0.2)
    change(box)
    inode = path.with_name("box.json.lock").stat().st_ino
    holder = fork.Process(target=hold, args=(box, tmp_path / "ready"))
    holder.start()
    try:
        while not (tmp_path / "ready").exists():
            assert holder.is_alive(), "it never had the lock"
            time.sleep(0.005)
        began = time.monotonic()
        with pytest.raises(Busy, match="is locked by another process") as busy:
            change(box)
        assert time.monotonic() - began >= 0.19
        assert busy.value.code == "store.busy"
        assert box.read() == Box(1)  # reading waits for nobody
    finally:
        holder.kill()
        holder.join()
    assert change(box) == Box(2)  # the lock of a process that was killed is free at once
    assert path.with_name("box.json.lock").stat().st_ino == inode


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EIO])
def test_a_file_system_without_locks(box: LockedFile[Box], path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", refuse)
        with pytest.raises(StoreError, match=re.escape(os.strerror(code))):
            change(box)
    assert names(path) == ["box.json.lock"]  # nothing was written, and no file stands for a lock
    assert change(box) == Box(1)


def test_a_lock_that_cannot_be_given_back(box: LockedFile[Box], monkeypatch: pytest.MonkeyPatch) -> None:
    given = fcntl.flock

    def refuse(handle: int, operation: int) -> None:
        if operation == fcntl.LOCK_UN:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        given(handle, operation)

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", refuse)
        assert change(box) == Box(1)
    assert box.read() == Box(1)


def test_a_lock_inside_itself_is_refused_at_once(box: LockedFile[Box]) -> None:
    with box.locked(), pytest.raises(Busy):
        change(box)
    assert change(box) == Box(1)


def test_an_error_inside_frees_the_lock(box: LockedFile[Box]) -> None:
    for error in (ValueError, OSError, KeyboardInterrupt):
        with pytest.raises(error), box.locked():
            raise error
    assert change(box) == Box(1)


def write_for_ever(path: Path, seat: int) -> None:
    box = LockedFile(path, Box)
    while True:
        with box.locked():
            value = box.read()
            box.write(Box(value.count + 1, f"{value.count + 1}" * 20_000, [seat]))


@pytest.mark.thorough
def test_writers_that_are_killed_leave_whole_files(box: LockedFile[Box], path: Path) -> None:
    last = 0
    for turn in range(25):
        writers = [fork.Process(target=write_for_ever, args=(path, seat)) for seat in range(2)]
        for writer in writers:
            writer.start()
        before, until, limit = last, 0.0, time.monotonic() + PATIENCE
        while not until or time.monotonic() < until:
            assert time.monotonic() < limit, "nobody writes"
            value = box.read()
            assert value.text == f"{value.count}" * 20_000 or value == Box()
            assert value.count >= last
            last = value.count
            if last > before and not until:  # they are killed while they write, not while they start
                until = time.monotonic() + 0.02 + 0.003 * turn
        for writer in writers:
            writer.kill()
            writer.join()
    assert last >= 25
    change(box)
    assert names(path) == ["box.json", "box.json.lock"]  # what the killed left beside it is gone too
    assert corrupt_files(path) == []


def count_up(path: Path, times: int) -> None:
    box, done = LockedFile(path, Box), 0
    while done < times:
        with suppress(Busy):  # the others had the lock for long: nothing was changed
            change(box)
            done += 1


def test_no_change_is_lost(box: LockedFile[Box], path: Path) -> None:
    inodes = set()
    workers = [fork.Process(target=count_up, args=(path, 50)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        inodes.add(path.with_name("box.json.lock").stat().st_ino)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert box.read() == Box(200)
    assert len(inodes) == 1


def test_a_write_does_not_read_again_what_was_read_under_the_lock(
    box: LockedFile[Box], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text('{"count": 1, "text": "a", "items": [], "later": 5}')
    with box.locked():
        value = box.read()
        monkeypatch.setattr(atomic, "read_bounded", lambda *_: pytest.fail("it is read again"))
        value.count = 2
        box.write(value)
    assert msgspec.json.decode(path.read_bytes()) == {"v": 1, "count": 2, "text": "a", "items": [], "later": 5}


ONE_KIND = """
import sys
from toolguard_engine.stores import file_lock, locked
with locked.lock(__import__("pathlib").Path(sys.argv[1])):
    print(*({"asyncio", "ssl", "filelock", "filelock._soft"} & set(sys.modules)))
    import filelock
    print(file_lock.library() == (filelock.FileLock, filelock.Timeout))
    try:
        filelock.FileLock(sys.argv[1] + ".lock", 0).acquire()
    except filelock.Timeout:
        print("locked")
import asyncio
async def main():
    async with filelock.AsyncFileLock(sys.argv[1] + ".lock") as held:
        print(held.is_locked)
asyncio.run(main())
"""


def test_one_kind_of_lock_is_imported_and_the_package_stays_as_it_is(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ONE_KIND, str(tmp_path / "file")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["", "True", "locked", "True", ""]


def test_a_release_that_names_its_modules_otherwise_is_imported_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def renamed(name: str) -> NoReturn:
        raise ImportError(f"{name} has no module of that name")

    monkeypatch.setattr(file_lock, "_package_without_content", renamed)
    assert file_lock.library.__wrapped__() == (filelock.FileLock, filelock.Timeout)
