"""The rules of a room as a profile for macOS: what its last matching line says about each path."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path, PurePath
from typing import Any

import pytest

from in_room import HOME, HOST, PLACES, RULES, STATE
from tables import each_row
from toolguard_engine.config.containment_settings import ContainmentConfig
from toolguard_engine.containment.profile import profile
from toolguard_engine.containment.rules import RoomRule, behind
from toolguard_engine.containment.sandbox_text import text
from toolguard_engine.server import command_shell, room_causes, rooms, sandbox_profiles
from toolguard_engine.server.sandbox_profiles import SandboxProfile

LINE = re.compile(r"\((allow|deny) ([a-z*\- ]+) \((subpath|literal) ([^)]*)\)\)")


def unchanged(path: str) -> str:
    return path


def decided(profile_text: str, operation: str, path: str) -> str:
    """`allow` or `deny`, as the system decides: by the last line that matches."""
    found = "allow"
    for line in profile_text.splitlines():
        parts = LINE.fullmatch(line)
        if parts is None:
            continue
        place = PurePath(parts[4].strip().strip('"'))
        around = (PurePath(path), *PurePath(path).parents) if parts[3] == "subpath" else (PurePath(path),)
        if place in around and any(_covers(each, operation) for each in parts[2].split()):
            found = parts[1]
    return found


def _covers(pattern: str, operation: str) -> bool:
    return operation.startswith(pattern[:-1]) if pattern.endswith("*") else operation == pattern


PROTECT = text(RULES, unchanged)
READ, WRITE = "file-read-data", "file-write-data"


@each_row(
    ("operation", "path", "decision"),
    [
        (READ, f"{STATE}/toolguard/key", "deny"),
        (READ, f"{STATE}/openclaw.json", "deny"),
        (READ, f"{STATE}/not/there/yet", "deny"),
        (WRITE, f"{STATE}/toolguard/kill-switch", "deny"),
        (WRITE, f"{STATE}/openclaw.json", "deny"),
        ("file-link", f"{STATE}/toolguard/key", "deny"),
        ("file-read-metadata", STATE, "allow"),
        (READ, f"{STATE}/workspace/notes.md", "allow"),
        (WRITE, f"{STATE}/workspace/notes.md", "allow"),
        (READ, f"{STATE}/cache/shell-snapshots/a.sh", "allow"),
        (WRITE, f"{STATE}/cache/shell-snapshots/a.sh", "deny"),
        (READ, f"{HOME}/.zshrc", "allow"),
        (WRITE, f"{HOME}/.zshrc", "deny"),
        (WRITE, f"{HOME}/Library/LaunchAgents/a.plist", "deny"),
        (WRITE, f"{HOME}/Documents/a.md", "allow"),
        ("network-outbound", "/var/run/docker.sock", "deny"),
        ("file-write-unlink", STATE, "deny"),
        ("file-write-unlink", f"{HOME}/.config", "deny"),
        ("file-write-unlink", f"{HOME}/.config/other", "allow"),
        ("file-write-unlink", HOME, "deny"),
    ],
)
def test_protect(operation: str, path: str, decision: str) -> None:
    assert decided(PROTECT, operation, path) == decision


def made(name: Any, doors: frozenset[str] = frozenset()) -> str:
    return text(behind(profile(ContainmentConfig(profile=name), PLACES), doors), unchanged)


def test_a_door_opens_what_lies_behind_it() -> None:
    docker = made("protect", frozenset({"docker"}))
    assert decided(docker, "network-outbound", "/var/run/docker.sock") == "allow"
    assert decided(docker, READ, f"{STATE}/toolguard/key") == "deny"
    assert "(deny appleevent-send)" in docker
    assert "(deny appleevent-send)" not in made("protect", frozenset({"bus"}))


def test_secrets_workspace_and_offline() -> None:
    assert decided(made("protect"), READ, f"{HOME}/.ssh/id_rsa") == "allow"
    assert decided(made("secrets"), READ, f"{HOME}/.ssh/id_rsa") == "deny"
    assert decided(made("secrets"), READ, f"{HOME}/.ssh/known_hosts") == "allow"
    limited = made("workspace")
    assert [decided(limited, WRITE, path) for path in (f"{HOME}/Documents/a", "/tmp/a", f"{STATE}/workspace/a")] == [
        "deny", "allow", "allow",
    ]  # fmt: skip
    assert decided(limited, READ, f"{HOME}/Documents/a") == "allow"
    assert decided(limited, READ, f"{STATE}/toolguard/key") == "deny"
    assert "(deny network*)" in made("offline")
    assert "(deny network*)" not in limited


def test_it_begins_as_a_profile_that_allows() -> None:
    lines = PROTECT.splitlines()
    assert lines[:2] == ["(version 1)", "(allow default)"]
    assert all(line.count("(") == line.count(")") for line in lines)


def test_a_path_is_the_real_one_and_cannot_end_its_quotes() -> None:
    rules = [RoomRule("hide", Path('/a"b\\c'))]
    assert '(subpath "/a\\"b\\\\c")' in text(rules, unchanged)
    assert '(subpath "/private/tmp/x")' in text([RoomRule("hide", Path("/tmp/x"))], lambda path: f"/private{path}")


@pytest.fixture
def macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "IS_MACOS", True)
    monkeypatch.setattr(room_causes, "standing", lambda: None)


def test_its_room_is_a_file_with_a_number_that_stays(tmp_path: Path, macos: None) -> None:
    held = [rooms.Rooms(lambda _: RULES, tmp_path / "shell") for _ in range(2)]
    numbers = [each.entrance("main") for each in held]
    assert numbers[0] == numbers[1] > 0
    file = sandbox_profiles.file_of(tmp_path / "shell", numbers[0])
    assert file.read_text() == text(RULES, os.path.realpath)
    assert held[0].entering(numbers[0]) == ["/usr/bin/sandbox-exec", "-f", str(file)]
    assert held[0].entrance("main", frozenset({"docker"})) not in (0, numbers[0])
    assert held[0].entrance("main", frozenset({"outside"})) == -1


def test_a_file_that_says_something_else_is_written_again(tmp_path: Path) -> None:
    number = SandboxProfile(RULES, tmp_path).pid
    file = sandbox_profiles.file_of(tmp_path, number)
    file.write_text("(version 1)\n(allow default)\n")
    again = SandboxProfile(RULES, tmp_path)
    assert again.is_current()
    file.unlink()
    assert not again.is_current()


def test_files_do_not_become_ever_more(tmp_path: Path) -> None:
    for number in range(sandbox_profiles.MAX_FILES + 20):
        last = SandboxProfile((RoomRule("hide", Path(f"/secret/{number}")),), tmp_path)
    assert len(list(tmp_path.glob("*.sb"))) == sandbox_profiles.MAX_FILES
    assert last.is_current()


@pytest.mark.parametrize("named", [",main=7,", ",other=7,", "", ",main=x,"])
def test_without_its_file_nothing_runs(tmp_path: Path, macos: None, named: str) -> None:
    program = command_shell.put(tmp_path, "/bin/bash", "/usr/bin:/bin")
    environment = {"TOOLGUARD_ROOM": "main", "TOOLGUARD_ROOMS": named, "PATH": "/usr/bin:/bin"}
    done = subprocess.run([program, "-c", "echo ran"], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 125)
    outside = subprocess.run(
        [program, "-c", "echo ran"], env={"PATH": "/usr/bin"}, capture_output=True, text=True, check=False
    )
    assert outside.stdout == "ran\n"


def test_every_place_of_the_host_is_kept() -> None:
    """The same that `kept_places` takes for granted of the rules."""
    assert decided(PROTECT, READ, f"{STATE}/toolguard/key") == "deny"
    assert decided(PROTECT, READ, f"{HOST.metrics}.token") == "deny"
