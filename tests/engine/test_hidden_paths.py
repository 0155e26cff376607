"""Which kept path the output of a command shows that it failed on."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolguard_engine.containment.hidden_paths import MAX_LINE, failed_on, lacks_rights
from toolguard_engine.containment.rules import STARTUP, RoomRule
from toolguard_engine.wording import room_notes

STATE = "/home/u/.openclaw"
RULES = (
    RoomRule("hide", Path(STATE)),
    RoomRule("show", Path(f"{STATE}/workspace")),
    RoomRule("read-only", Path(f"{STATE}/extensions")),
    RoomRule("read-only", Path("/home/u/.bashrc"), STARTUP),
    RoomRule("hide", Path("/run/docker.sock"), "docker"),
    RoomRule("read-only", Path("/")),
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (f"cat: {STATE}/openclaw.json: No such file or directory", STATE),
        ("bash: line 1: /home/u/.bashrc: Read-only file system", "/home/u/.bashrc"),
        ("bash: ~/.bashrc: Read-only file system\nmore", "/home/u/.bashrc"),
        (f"mv: cannot move '{STATE}' to 'x': Device or resource busy", STATE),
        (f"Error: EROFS: read-only file system, open '{STATE}/extensions/a'", f"{STATE}/extensions"),
        (f"PermissionError: [Errno 13] Permission denied: '{STATE}'", STATE),
        ("cat: /home/u/other: No such file or directory", ""),
        (f"cat: {STATE}-backup/a: No such file or directory", ""),
        (f"found {STATE}/openclaw.json", ""),
        ("docker: /run/docker.sock: Permission denied", ""),
        ("x" * MAX_LINE + f"{STATE}: No such file or directory", ""),
        ("", ""),
    ],
)
def test_paths(text: str, path: str) -> None:
    assert failed_on(text, RULES, "/home/u") == path


def test_the_note_names_the_path() -> None:
    assert STATE in room_notes.hidden(STATE)
    assert "\x1b" not in room_notes.hidden("/a\x1b[1m")


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("sudo: effective uid is not 0, is /usr/bin/sudo on a file system with the 'nosuid' option set?", True),
        ("sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set", True),
        ("sudo: /etc/sudo.conf is owned by uid 65534, should be 0", True),
        ("sudo: a password is required", False),
        ("-rwsr-xr-x 1 root root 0 setuid", False),
    ],
)
def test_rights(text: str, *, lacks: bool) -> None:
    assert lacks_rights(text) is lacks
