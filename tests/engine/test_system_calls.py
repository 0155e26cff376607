"""What the engine does differently on macOS, tested on any system."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from toolguard_engine.stores import atomic, audit_log, system_calls
from toolguard_engine.stores import open as stores


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the disk is asked for, by name."""
    found: list[str] = []
    monkeypatch.setattr(system_calls.fcntl, "fcntl", lambda _, command: found.append(f"fcntl {command}"))
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda _, name=name: found.append(name), raising=False)
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [("linux", ["fsync", "fsync"]), ("darwin", ["fcntl 51", "fcntl 51"]), ("freebsd14", ["fsync", "fsync"])],
)
def test_a_file_that_must_last(
    name: str, expected: list[str], asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_calls, "NAME", name)
    atomic.replace(tmp_path / "a", b"1")
    assert asked == expected
    atomic.replace(tmp_path / "a", b"2", durable=False)
    assert asked == expected


@pytest.mark.parametrize(("name", "expected"), [("linux", "fdatasync"), ("darwin", "fcntl 51")])
def test_the_audit_log(name: str, expected: str, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_calls, "NAME", name)
    stores.audit_log(tmp_path).append([audit_log.AuditEvent("a1", audit_log.when(1.0), "approve")])
    assert expected in asked
    assert set(asked) <= ({"fcntl 51"} if name == "darwin" else {"fsync", "fdatasync"})


@pytest.mark.parametrize("without", [False, True])
def test_a_system_without_fdatasync(asked: list[str], monkeypatch: pytest.MonkeyPatch, *, without: bool) -> None:
    monkeypatch.setattr(system_calls, "NAME", "linux")
    if without:
        monkeypatch.delattr(os, "fdatasync", raising=False)
    system_calls.sync_content(0)
    assert asked == ["fsync" if without else "fdatasync"]


@pytest.mark.parametrize(("number", "falls_back"), [(errno.ENOTSUP, True), (errno.EINVAL, True), (errno.EIO, False)])
def test_disks_that_know_no_full_sync(
    number: int, asked: list[str], monkeypatch: pytest.MonkeyPatch, *, falls_back: bool
) -> None:
    def fail(handle: int, command: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(system_calls, "NAME", "darwin")
    monkeypatch.setattr(system_calls.fcntl, "fcntl", fail)
    if falls_back:
        system_calls.sync(0)
        assert asked == ["fsync"]
    else:
        with pytest.raises(OSError, match=os.strerror(number)):
            system_calls.sync(0)


@pytest.mark.skipif(sys.platform != "linux", reason="no other system seals files")
def test_a_private_file_cannot_be_changed_by_others_of_our_user() -> None:
    handle = system_calls.private_file(b"anna")
    try:
        assert Path(f"/dev/fd/{handle}").read_bytes() == b"anna"
        for change in (lambda: os.pwrite(handle, b"eve!", 0), lambda: os.ftruncate(handle, 0)):
            with pytest.raises(PermissionError):
                change()
        assert Path(f"/dev/fd/{handle}").read_bytes() == b"anna"
    finally:
        os.close(handle)
