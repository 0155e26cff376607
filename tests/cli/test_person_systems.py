"""What /proc and `ps` tell, and the question on a real terminal."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath

import pytest
from held_stage import Terminal

from tables import each_row
from toolguard_cli.dashboard import open_browser
from toolguard_cli.person import linux, macos, namespaces, program_roles, require_human
from toolguard_cli.person.linux import Linux, orphans_go_to
from toolguard_cli.person.system_facts import ProcessInfo, is_local
from toolguard_cli.system import operating_system

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")


@contextmanager
def sleeping(*, env: dict[str, str] | None = None, new_session: bool = False) -> Iterator[int]:
    """A process that has begun to run its own program."""
    code = "import sys; print(1, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=env, start_new_session=new_session, **pipes) as process:  # type: ignore[call-overload]
        process.stdout.readline()
        yield process.pid
        process.stdin.close()


@on_linux
def test_a_process() -> None:
    before = time.time()
    with sleeping(env={"OPENCLAW_SHELL": "exec"}, new_session=True) as pid:
        found = Linux().process(pid)
    assert found
    assert (found.ppid, found.sid, found.tty, found.uid, found.marked) == (os.getpid(), pid, "", os.geteuid(), True)
    assert found.program == os.path.realpath(sys.executable)
    assert before - 1 < found.started < time.time() + 1
    assert Linux().process(4_000_001) is None


@on_linux
@each_row(
    ("env", "marked"),
    [
        ({}, False),
        ({"OPENCLAW_SHELL": "tui-local"}, False),
        ({"OPENCLAW_SHELL": "acp-client"}, True),
        ({"NOT_OPENCLAW_SHELL": "exec"}, False),
    ],
)
def test_a_mark(env: dict[str, str], *, marked: bool) -> None:
    with sleeping(env=env) as pid:
        found = Linux().process(pid)
    assert found
    assert found.marked == marked


@on_linux
@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_AUDIT", "ELECTRON_RUN_AS_NODE"])
def test_a_terminal_with_somebodys_code_in_it_is_not_trusted(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A program of the system's stands for the terminal emulator."""
    with _cat({}) as plain, _cat({name: ""}) as altered:
        monkeypatch.setattr(program_roles, "_TERMINALS", frozenset({"cat"}))
        found = [Linux().process(pid) for pid in (plain, altered)]
    assert [process and PurePath(process.program).name for process in found] == ["cat", "cat"]
    assert [process and process.trusted for process in found] == [True, False]


@contextmanager
def _cat(env: dict[str, str]) -> Iterator[int]:
    with subprocess.Popen(["/bin/cat"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        yield process.pid
        process.stdin.close()


@on_linux
def test_a_login_between_two_addresses_of_this_machine() -> None:
    coded = {
        name: f"{int.from_bytes(bytes(map(int, name.split('.'))), sys.byteorder):08X}" for name in ("127.0.0.2", "192.0.2.7")
    }
    found = [linux._is_local_login(["0:", "0100007F:0016", f"{each}:C350", "01"], SSH) for each in coded.values()]
    assert found == [True, False]
    assert [linux._is_from_here(f"{name} 50000 127.0.0.1 22") for name in coded] == [True, False]
    assert not linux._is_from_here("")


@on_linux
def test_a_name_cannot_forge_the_fields() -> None:
    code = (
        "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'a) S 1 1 1 (', 0, 0, 0)\n"
        "from toolguard_cli.person.linux import Linux; import os; found = Linux().process(os.getpid())\n"
        "print(found.ppid, found.name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{os.getpid()} a) S 1 1 1 ("


@each_row(
    ("number", "name"),
    [(0, ""), (34816, "pts/0"), (34819, "pts/3"), (35072, "pts/256"), (1025, "tty1"), (1088, "4:64"), (0x500, "5:0")],
)
def test_terminals_by_number(number: int, name: str) -> None:
    assert linux._terminal(number) == name


@on_linux
def test_who_holds_a_pseudo_terminal() -> None:
    master, slave = os.openpty()
    try:
        tty = os.ttyname(slave).removeprefix("/dev/")
        assert Linux().holders(tty) == [os.getpid()]
    finally:
        os.close(master)
        os.close(slave)
    assert os.getpid() not in (Linux().holders(tty) or [])


@on_linux
def test_where_orphans_go() -> None:
    """A process that asked for orphans gets them; one that did not is passed by."""
    code = textwrap.dedent(
        """
        import ctypes, os, subprocess, sys
        asked = "from toolguard_cli.person.linux import *; print(orphans_go_to(), *sorted(Linux().adopters()))"
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        print(os.getpid(), flush=True)
        subprocess.run([sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {asked!r}])"])
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    reaper, reported = done.stdout.splitlines()
    assert reported.split()[0] == reaper
    assert {reaper, "1", str(os.getpid())} <= set(reported.split()[1:])
    assert orphans_go_to() != os.getpid()


@on_linux
def test_a_process_that_hides_is_not_roots() -> None:
    """Such a process cannot be looked into, and its folder in /proc belongs to root."""
    library, (hidden, reported) = ctypes.CDLL(None), os.pipe()
    child = os.fork()
    if child == 0:
        library.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
        os.write(reported, b"x")
        time.sleep(60)
        os._exit(0)
    try:
        assert os.read(hidden, 1)
        found = Linux().process(child)
        assert found
        assert found.uid == os.geteuid()
        assert os.geteuid() == 0 or not found.trusted
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(hidden)
        os.close(reported)


HERE, THERE = "0100007F:0016", "0100007F:C350"
SSH = frozenset({22})


@each_row(
    ("row", "local"),
    [
        (f"0: {HERE} {THERE} 01", True),
        (f"0: {HERE} {THERE} 06", False),
        ("0: 0200A8C0:0016 0200A8C0:C350 01", True),
        ("0: 0200A8C0:0016 0900A8C0:C350 01", False),
        (f"0: {THERE} {HERE} 01", False),
        ("0: 0000000000000000FFFF00000100007F:0016 0000000000000000FFFF00000100007F:C350 01", True),
        ("0: 00000000000000000000000001000000:0016 00000000000000000000000001000000:C350 01", True),
    ],
)
def test_a_login_from_here(row: str, *, local: bool) -> None:
    assert linux._is_local_login(row.split(), SSH) == local


@each_row(
    ("connection", "local"),
    [
        ("", False),
        ("10.0.0.7 50000 10.0.0.1 22", False),
        ("127.0.0.1 50000 127.0.0.1 22", True),
        ("::1 50000 ::1 22", True),
        ("::ffff:127.0.0.1 50000 ::ffff:127.0.0.1 22", True),
        ("10.0.0.1 50000 10.0.0.1 22", True),
        ("127.0.0.1", True),
        ("one", False),
    ],
)
def test_where_a_login_comes_from(connection: str, *, local: bool) -> None:
    assert is_local(connection) == local


def test_roles_by_either_name() -> None:
    """A process can change its own name, and be started from a file of another name."""
    for name, program, role in [
        ("cron", "/usr/sbin/cron", "service"),
        ("x", "/usr/sbin/cron", "service"),
        ("cron", "/tmp/x", "service"),
        ("tmux: server", "/usr/bin/tmux (deleted)", "multiplexer"),
        ("gnome-terminal-", "", "terminal"),
        ("openclaw-gatewa", "/usr/bin/node", "agent"),
        ("bash", "/usr/bin/bash", "shell"),
        ("python3", "/usr/bin/python3.11", ""),
    ]:
        assert program_roles.role(ProcessInfo(5, 1, name=name, program=program)) == role, (name, program)


@each_row(
    ("process", "is_login"),
    [
        (ProcessInfo(5, 1, name="sshd", uid=0, trusted=True), True),
        (ProcessInfo(5, 1, name="sshd", uid=1000, program="/usr/sbin/sshd", trusted=True), False),
        (ProcessInfo(5, 1, name="sshd", uid=0, program="/usr/bin/dash", trusted=True), False),
        (ProcessInfo(5, 1, name="sshd", uid=0, program="/home/u/sshd"), False),
    ],
)
def test_a_login_is_roots(process: ProcessInfo, *, is_login: bool) -> None:
    assert program_roles.is_login(process) == is_login


def test_what_psutil_tells_on_macos() -> None:
    """psutil answers alike on all systems, so this one can stand for macOS."""
    env = {**os.environ, "OPENCLAW_SHELL": "exec", "SSH_CONNECTION": "127.0.0.1 50000 127.0.0.1 22"}
    command = [sys.executable, "-c", "input()"]
    before = time.time()
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=env, start_new_session=True) as child:
        system = macos.MacOS()
        found, own = system.process(child.pid), system.process(os.getpid())
        child.kill()
    assert found is not None
    assert own is not None
    assert (found.ppid, found.sid, found.tty, found.uid) == (os.getpid(), child.pid, "", os.geteuid())
    assert (found.marked, found.local_login) == (True, True)
    assert own.started < before
    assert before - 2 < found.started < time.time() + 2
    assert system.process(2**22 + 12_345) is None


# The question

ASKS = "from toolguard_cli.person import question\ntry: print('answer', question.asked(['make release']))\n"
ASKS += "except question.NoTerminalError as error: print('nobody:', error)"


@contextmanager
def asking(code: str = ASKS, *, typed: str = "") -> Iterator[Terminal]:
    shown = Terminal([sys.executable, "-c", code], program=None)
    try:
        shown.type(typed)
        yield shown
    finally:
        shown.close()


def code_in(text: str) -> str:
    return text.rpartition("Type ")[2].split()[0]


@pytest.mark.parametrize("early", ["", "y\n", "y\nyes\n\n\n"])
def test_the_code_is_typed(early: str) -> None:
    """What was typed before the question is no answer to it."""
    typed = "import select\nselect.select([0], [], [])\n" if early else ""
    with asking(typed + ASKS, typed=early) as shown:
        text = shown.until("to cancel: ")
        assert "make release" in text
        shown.type(f" {code_in(text).upper()} \n")
        shown.until("answer True")


@each_row("typed", ["\n", "y\n", "yes\n", "\x04", "abc\n", "x" * 3000 + "\n"])
def test_anything_else_is_a_no(typed: str) -> None:
    with asking() as shown:
        shown.until("to cancel: ")
        shown.type(typed)
        shown.until("answer False")


def test_each_question_has_a_code_of_its_own() -> None:
    codes = set()
    for _ in range(3):
        with asking() as shown:
            codes.add(code_in(shown.until("to cancel: ")))
    assert len(codes) == 3


def test_an_interrupt_is_a_no() -> None:
    with asking() as shown:
        shown.until("to cancel: ")
        shown.type("\x03")
        shown.until("answer False")


def test_in_the_background() -> None:
    with asking(f"import os\nif child := os.fork(): os.waitpid(child, 0), os._exit(0)\nos.setpgrp()\n{ASKS}") as shown:
        shown.until("nobody: it runs in the background of its terminal")


def test_without_a_terminal() -> None:
    done = subprocess.run([sys.executable, "-c", ASKS], capture_output=True, text=True, check=True, start_new_session=True)
    assert done.stdout == "nobody: there is no terminal\n"


# The command line on each system


@pytest.mark.parametrize(("name", "kind"), [("linux", Linux), ("darwin", macos.MacOS)])
def test_each_system_has_its_own_facts(name: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operating_system, "NAME", name)
    assert type(require_human.this_system()) is kind


def test_only_linux_has_namespaces_and_screens_in_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operating_system, "NAME", "darwin")
    monkeypatch.setattr(namespaces, "_own", lambda: pytest.fail("asked"))
    monkeypatch.setattr(open_browser.webbrowser, "get", object)
    assert namespaces.doubt([["user:[1]", "pid:[2]"]]) == ""
    assert open_browser._has_browser({})
    monkeypatch.setattr(operating_system, "NAME", "linux")
    assert not open_browser._has_browser({})
    assert open_browser._has_browser({"DISPLAY": ":0"})
