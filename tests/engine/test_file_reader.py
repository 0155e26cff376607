"""Reading files that change, hang or are none: an answer each time."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from toolguard_engine.model.files import FileText, Unread
from toolguard_engine.server.file_reader import MAX_BYTES, MAX_STUCK, FileReader


def why(found: FileText | Unread) -> str:
    return found.reason if isinstance(found, Unread) else found.text


@pytest.fixture
def reader() -> FileReader:
    return FileReader(wait=60)


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

    reader = FileReader(hang, wait=0.001)
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
