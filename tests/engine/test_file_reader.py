"""Reading files that change, hang or are none: an answer each time."""

from __future__ import annotations

import mmap
import os
import threading
from pathlib import Path

import pytest

from toolguard_engine.model.files import FileText, Unread
from toolguard_engine.model.work_limit import TooIntricate
from toolguard_engine.server.file_reader import MAX_BYTES, MAX_STUCK, FileReader
from toolguard_engine.server.local_disks import LocalDisks


def why(found: FileText | Unread) -> str:
    return found.reason if isinstance(found, Unread) else found.text


@pytest.fixture(params=["looked at at once", "handed over"])
def reader(request: pytest.FixtureRequest, tmp_path: Path) -> FileReader:
    slow = () if request.param == "looked at at once" else (f"/{tmp_path.parts[1]}",)
    return FileReader(wait=60, disks=LocalDisks(slow))


def test_what_is_no_file_is_not_opened(reader: FileReader, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "large").write_bytes(b"a" * (MAX_BYTES + 1))
    (tmp_path / "text").write_text("echo hi\n")
    (tmp_path / "link").symlink_to("text")
    for number in range(300):
        (tmp_path / f"entry-{number}").touch()
    expected = {
        "pipe": "not-regular", "loop": "not-regular", "zero": "not-regular", "binary": "binary", "large": "too-large",
        "absent": "absent", "text": "echo hi\n", "link": "echo hi\n", "text/below": "absent", "nul\0": "absent",
        "n" * 300: "absent", ".": "not-regular",
    }  # fmt: skip
    assert {name: why(reader.read(f"{tmp_path}/{name}")) for name in expected} == expected
    assert [why(reader.read(path)) for path in ("/dev/zero", "/dev/tty")] == ["not-regular"] * 2
    link = reader.read(f"{tmp_path}/link")
    assert isinstance(link, FileText)
    assert (link.path, link.identity[2]) == (str(tmp_path / "text"), 8)
    assert reader.resolve(f"{tmp_path}/link") == str(tmp_path / "text")
    assert reader.missing([f"{tmp_path}/absent", f"{tmp_path}/loop"]) == [f"{tmp_path}/absent"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(reader: FileReader, tmp_path: Path) -> None:
    (tmp_path / "secret").touch(mode=0o000)
    assert why(reader.read(f"{tmp_path}/secret")) == "forbidden"


def test_a_file_that_grows_and_one_that_is_exchanged(reader: FileReader, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("a")
    ends = threading.Event()

    def grow() -> None:
        with path.open("a") as file:
            while not ends.is_set():
                file.write("a" * 10_000)
                beside = tmp_path / "y"
                beside.write_text("b")
                beside.replace(tmp_path / "z")

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        found = [reader.read(str(place)) for place in (path, tmp_path / "z") for _ in range(200)]
    finally:
        ends.set()
        writer.join()
    assert {type(each) for each in found} <= {FileText, Unread}
    assert {each.reason for each in found if isinstance(each, Unread)} <= {"too-large", "absent"}


def test_a_file_system_that_hangs() -> None:
    comes_back = threading.Event()

    def hang(_: str) -> FileText | Unread:
        comes_back.wait()
        return Unread("absent")

    reader = FileReader(hang, wait=0.001, disks=LocalDisks(slow=["/net"]))
    before = set(threading.enumerate())
    assert {why(reader.read("/net/x")) for _ in range(50)} == {"too-slow"}
    stuck = set(threading.enumerate()) - before
    assert len(stuck) <= MAX_STUCK
    assert reader.resolve("/net/x") == "/net/x"
    comes_back.set()
    for thread in stuck:
        thread.join(60)
    reader._wait = 60
    assert why(reader.read("/net/x")) == "absent"


def test_links_are_followed_as_the_system_does(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").touch()
    links = {
        "up": "a/b/..",
        "to": "a/b",
        "far": f"{tmp_path}/to/../b",
        "gone": "absent/x",
        "loop": "loop",
        "a/b/back": "../../a",
    }
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    disks = LocalDisks(slow=())
    for name in (
        "up/b/file",
        "to/file",
        "far/file",
        "to/back/b/file",
        "gone/y",
        "a//b/./file",
        "absent/x/y",
        "file/x",
        "absent//../to/x",
    ):
        path = f"{tmp_path}/{name}"
        assert disks.real(path) == os.path.realpath(path), name
    assert disks.real(f"{tmp_path}/loop") is None
    assert disks.real("relative") is None
    assert LocalDisks(slow=[f"{tmp_path}/a/b"]).real(f"{tmp_path}/to/file") is None


def test_paths_in_one_folder_are_looked_at_together(tmp_path: Path) -> None:
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "out").symlink_to(tmp_path / "net")
    (tmp_path / "round").symlink_to("near/../round")
    disks = LocalDisks(slow=[f"{tmp_path}/net"])
    near = [f"{tmp_path}/near/{name}" for name in ("a", "b", "absent/c")]
    assert disks.are_local(["/", "/x", *near])
    for far in ("near/out", "near/out/x", "net", "net/x", "near/../net", "round", "round/x"):
        assert not disks.are_local([*near, f"{tmp_path}/{far}"]), far
    assert not disks.are_local([*near, "relative"])


def test_what_is_missing_is_found_without_a_look_at_disks_that_may_hang(tmp_path: Path) -> None:
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "there").touch()
    (tmp_path / "near" / "out").symlink_to(tmp_path / "net")
    (tmp_path / "to").symlink_to("near")
    disks = LocalDisks(slow=[f"{tmp_path}/net"])
    names = (
        "near",
        "near/there",
        "near/out",
        "to",
        "to/there",
        "near/a",
        "near/a/b",
        "to/a",
        "near/there/x",
        "to/\0",
        "z" * 300,
    )
    paths = [f"{tmp_path}/{name}" for name in names]
    assert disks.missing([*paths, str(tmp_path)]) == sorted(path for path in paths if not os.path.lexists(path))
    for far in ("near/out/x", "to/out/x", "net", "net/x", "near/../net", "near/..", "near/"):
        assert disks.missing([*paths, f"{tmp_path}/{far}"]) is None, far
    assert disks.missing([*paths, "relative"]) is None


@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="this system lists no mounts")
def test_the_mounts_of_this_machine_are_known() -> None:
    disks = LocalDisks()
    listed = Path("/proc/self/mountinfo").read_text()
    remote = {
        line.split(" ")[4]
        for line in listed.splitlines()
        if any(f" - {kind}" in line for kind in ("nfs", "cifs", "fuse", "autofs", "9p"))
    }
    assert all(disks.real(f"{place}/x") is None for place in remote)
    if " - ext4 " in listed or " - overlay " in listed:
        assert disks.real("/") == "/"


def test_news_of_mounts_are_not_lost_where_a_reading_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    disks = LocalDisks()
    if disks.real("/") is None:
        pytest.skip("the root of this machine is no local disk")

    class Stopped:
        def poll(self, _: int) -> None:
            raise TooIntricate

    with monkeypatch.context() as patched:
        patched.setattr(disks, "_slow", frozenset({"/proc"}))
        patched.setattr(disks, "_news", Stopped())
        with pytest.raises(TooIntricate):
            disks.real("/proc")
    disks._slow = frozenset({"/proc"})
    assert disks.real("/proc") == "/proc"


def test_a_file_that_is_read_again_is_as_it_lies_there(tmp_path: Path) -> None:
    """Also where inode, size and all times are the same: a process may share memory with the file."""
    reader, path = FileReader(disks=LocalDisks(slow=())), tmp_path / "script"
    path.write_text("echo a")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
        shared[5:] = b"b"
        first, before = reader.read(str(path)), path.stat()
        assert why(first) == "echo b"
        assert reader.read(str(path)) is first
        shared[5:] = b"c"
        assert why(reader.read(str(path))) == "echo c"
        if path.stat().st_ctime_ns == before.st_ctime_ns:
            shared[5:] = b"b"
            assert reader.read(str(path)) == first
