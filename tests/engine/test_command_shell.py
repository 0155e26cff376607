"""The program that OpenClaw runs commands with: named like the person's shell, and outside of rooms nothing but that."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from toolguard_engine.server import command_shell, room_causes

PATH = "/usr/bin:/bin"


@pytest.mark.parametrize(
    ("shell", "name"),
    [
        ("/bin/bash", "/bin/bash"),
        (" /bin/sh ", "/bin/sh"),
        ("/bin/nowhere", ""),
        ("", "sh"),
        ("/usr/sbin/nologin", "sh"),
        ("/usr/bin/fish", "bash"),
    ],
)
def test_the_shell_is_the_one_that_openclaw_would_run(shell: str, name: str) -> None:
    found = command_shell.real_shell(shell, PATH)
    assert found == name or Path(found).name == name


@pytest.mark.parametrize("shell", ["/bin/bash", ""])
def test_without_a_room_it_is_that_shell(tmp_path: Path, shell: str) -> None:
    state = tmp_path / "it's a state"
    program = command_shell.put(state, shell, PATH)
    environment = {"SHELL": str(program), "PATH": PATH, "room": "mine", "A": "b c"}
    text = 'echo "$A $room ${SHELL-unset} $1"; exit 3'
    done = subprocess.run([program, "-c", text, "x", "y z"], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (f"b c mine {shell or 'unset'} y z\n", "", 3)
    assert not (program.parent / command_shell.USED).exists()


def test_it_is_never_taken_for_a_persons_own_shell(tmp_path: Path) -> None:
    """A gateway that starts its successor hands on the variable: the program would start itself for ever."""
    first = command_shell.put(tmp_path, "/bin/bash", PATH)
    program = command_shell.put(tmp_path, str(first), PATH)
    environment = {"SHELL": str(program), "PATH": PATH}
    done = subprocess.run(
        [program, "-c", "echo $SHELL"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert str(tmp_path) not in done.stdout


def test_a_program_that_runs_nothing_is_not_used(tmp_path: Path) -> None:
    """As where the state directory is on a file system without programs: every command of the gateway would fail."""
    shell = tmp_path / "bash"
    shell.write_text("#!/bin/sh\nexit 126\n")
    shell.chmod(0o700)
    with pytest.raises(OSError, match="cannot run commands"):
        command_shell.put(tmp_path, str(shell), PATH)


GONE = 4_194_305
"""More than a process can have as its number."""


@pytest.mark.parametrize("rooms", [f",a=1,main={GONE},", f",main={GONE},", ",xmain=1,", "", "1"])
def test_with_a_room_that_is_gone_or_unknown_nothing_runs(tmp_path: Path, rooms: str) -> None:
    program = command_shell.put(tmp_path, "/bin/bash", PATH)
    environment = {"TOOLGUARD_ROOM": "main", "TOOLGUARD_ROOMS": rooms, "PATH": PATH}
    done = subprocess.run([program, "-c", "echo ran"], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 125)
    assert (program.parent / command_shell.USED).exists()


def test_another_release_of_openclaw_has_not_used_it_yet(tmp_path: Path) -> None:
    program = command_shell.put(tmp_path, "/bin/bash", PATH, "2026.9.6")
    used = program.parent / command_shell.USED
    used.touch()
    command_shell.put(tmp_path, "/bin/bash", PATH, "2026.9.6")
    assert used.exists()
    command_shell.put(tmp_path, "/bin/bash", PATH, "2026.9.7\nrm -rf /")
    assert not used.exists()
    assert "\nrm" not in program.read_text()


def test_a_command_needs_nothing_of_the_installation(tmp_path: Path) -> None:
    """It may be replaced or removed while the gateway runs."""
    assert str(Path(command_shell.__file__).parent) not in command_shell.put(tmp_path, "/bin/bash", PATH).read_text()


@pytest.mark.parametrize(("said", "options"), [("-W. --wdns <dir>", ["--wdns"]), (" -w, --wd[=<dir>]", [])])
def test_an_older_nsenter_enters_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, options: list[str]
) -> None:
    nsenter = tmp_path / "nsenter"
    nsenter.write_text(f"#!/bin/sh\necho '{said}'\n")
    nsenter.chmod(0o755)
    monkeypatch.setattr(room_causes, "NSENTER", ("/nowhere", str(nsenter)))
    assert command_shell.entering() == options


def test_no_shell_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no shell"):
        command_shell.put(tmp_path, "/bin/nowhere", PATH)
