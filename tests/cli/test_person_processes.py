"""Programs that an agent left behind, or had started by others, and persons: all as real processes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_stage import LIMIT, SCRIPT
from held_stage import Terminal
from person_stage import Machine, daemon, machine, until

import login_service
from tables import each_row
from toolguard_cli.rig.private_home import free_port
from toolguard_cli.system.paths import Places
from toolguard_engine.stores.files.audit_log_file import AuditLog

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the processes are made as Linux makes them")

FORKS_TWICE = (
    "import os, sys\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: os.execvp(sys.argv[1], sys.argv[1:])"
)
READS_AND_TYPES = """
import os, pty, re, sys
if os.fork(): sys.exit()
os.setsid()
child, master = pty.fork()
if child == 0: os.execvp("sh", ["sh", "-c", sys.argv[1]])
seen = b""
while True:
    try: data = os.read(master, 4096)
    except OSError: break
    if not data: break
    seen += data
    if found := re.search(rb"Type (\\w+) to confirm", seen):
        os.write(master, found[1] + b"\\n")
        seen = b""
"""
OWN_REAPER = """
import ctypes, os, sys, time
if os.fork(): sys.exit()
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if os.fork() == 0:
    if os.fork() == 0: os.execvp("sh", ["sh", "-c", sys.argv[1]])
    os._exit(0)
while True:
    try: os.wait()
    except ChildProcessError: break
"""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


WAYS: dict[str, list[str]] = {
    "a child": ["sh", "-c", "LINE & sleep 0.1; touch ROOT/go; wait; true"],
    "fork twice": python(FORKS_TWICE, "sh", "-c", "LINE"),
    "a shell's background": ["sh", "-c", "(LINE &)"],
    "setsid": ["setsid", "-f", "sh", "-c", "LINE"],
    "nohup and disown": ["bash", "-c", "nohup LINE & disown"],
    "a reaper of its own": python(OWN_REAPER, "LINE"),
    "script": ["setsid", "-f", "script", "-qfc", "LINE", "/dev/null"],
    "script that says yes": ["setsid", "-f", "sh", "-c", "yes | script -qfc 'LINE' /dev/null"],
    "a terminal that is read": python(READS_AND_TYPES, "LINE"),
    "a process namespace": ["setsid", "-f", "sh", "-c", "unshare -Urpf --mount-proc LINE || LINE"],
}


@pytest.fixture
def made(places: Places, tmp_path: Path) -> Iterator[Machine]:
    with machine(places, tmp_path) as found:
        yield found


def needed(name: str) -> str:
    """The program. Without it the test is left out, unless it was said that none may be."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        assert os.environ.get("TOOLGUARD_TEST_PROGRAMS") != "required", f"{name} is not installed"
        pytest.skip(f"{name} is not installed")
    return found


def filled(words: list[str], made: Machine) -> list[str]:
    return [word.replace("LINE", made.line).replace("ROOT", str(made.root)) for word in words]


def refused(made: Machine) -> str:
    """The attempt's output. Nothing was approved, and the audit log says that it was tried."""
    code, output = made.attempt()
    assert (code, made.status) == (1, "pending"), output
    assert "terminal of your own" in output
    last = list(AuditLog(made.places.state_dir).events())[-1]
    assert last["code"] in ("security.self-approval", "security.no-person")
    return output


@pytest.mark.parametrize("name", WAYS)
def test_what_an_agent_leaves_behind_approves_nothing(made: Machine, name: str) -> None:
    made.start_gateway()
    made.below_the_gateway(*filled(WAYS[name], made))
    assert "was started " in refused(made)


def test_below_a_manager_that_adopts_orphans(made: Machine) -> None:
    """The manager is older than the guard, and is what the orphan's parents lead to."""
    made.start_gateway(managed=True)
    made.below_the_gateway(*filled(WAYS["fork twice"], made))
    assert "was started " in refused(made)


def test_an_orphan_that_waited_for_another_gateway(made: Machine) -> None:
    made.start_gateway()
    made.below_the_gateway(*filled(WAYS["fork twice"], made))
    made.gateway.kill()
    made.gateway.wait()
    made.start_gateway()
    assert "by a process that has ended" in refused(made)


def test_what_allows_nothing_more_needs_no_terminal(made: Machine) -> None:
    """The table of all commands is in `test_require_human`."""
    made.write_script("kill-switch", "on")
    made.start_gateway()
    made.below_the_gateway(*filled(WAYS["fork twice"], made))
    assert "was started" not in made.attempt()[1]


@pytest.mark.parametrize("name", ["cron", "dbus-daemon"])
def test_a_daemon_that_runs_what_others_ask_for(places: Places, tmp_path: Path, name: str) -> None:
    with daemon(tmp_path, name) as send, machine(places, tmp_path) as made:
        made.start_gateway()
        send(made.line)
        assert f"was started by {name}, which runs programs for any caller, and there is no terminal" in refused(made)


def test_a_name_with_control_characters_is_not_shown_as_it_is(places: Places, tmp_path: Path) -> None:
    with daemon(tmp_path, "tmux: \x1b[2J") as send, machine(places, tmp_path) as made:
        made.start_gateway()
        send(made.line)
        assert "\x1b" not in refused(made)


def test_at(made: Machine) -> None:
    """The real daemon, where it may be started: the system's own is left alone, and its queue is shared."""
    if os.getuid() != 0:
        pytest.skip("only root may start atd; the daemon of that name above has its shape")
    with subprocess.Popen([needed("atd"), "-f"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as atd:
        try:
            made.start_gateway()
            made.below_the_gateway("sh", "-c", f"echo {made.line!r} | at now")
            assert "was started " in refused(made)
        finally:
            atd.kill()


@pytest.mark.parametrize("clear", ["", "exec env -i "], ids=["", "without the login's environment"])
def test_ssh_to_this_machine(made: Machine, clear: str) -> None:
    """The real login service, at another port than usual: what is logged in from here may be the agent."""
    needed("sshd")
    port = free_port()
    with login_service.sshd(made.root / "ssh", port) as login:
        made.start_gateway()
        made.below_the_gateway("setsid", "-f", *login, f"{clear}{made.line if clear else f'sh {made.script}'}")
        assert "by a login from this machine" in refused(made)


OWN_DASHBOARD = (
    "cd OWN; echo 00 | PYTHON -m toolguard_cli.dashboard --db OWN/m.db AT "
    "--port 0 --owned --vouched >log 2>&1; echo $? >new; mv new code"
)


@pytest.mark.thorough
@pytest.mark.parametrize("how", [["sh", "-c"], ["setsid", "-f", "sh", "-c"]], ids=["a child", "an orphan"])
def test_a_dashboard_that_is_held_as_the_gateways_is(made: Machine, how: list[str]) -> None:
    """With a metrics file, and so a token, of its own."""
    made.start_gateway()
    (own := made.root / "own").mkdir()
    line = OWN_DASHBOARD.replace("OWN", str(own)).replace("PYTHON", sys.executable).replace("AT", " ".join(made.at))
    made.below_the_gateway(*how, line)
    until((own / "code").exists, "the dashboard goes on")
    assert "was started " in (own / "log").read_text()
    assert not (own / "m.db.token").exists()


# namespaces of one's own

FAKED_PROC = """
import ctypes, os, sys, time
while not os.path.exists("go"): time.sleep(0.05)
assert ctypes.CDLL(None).mount(b"none", b"/proc", b"tmpfs", 0, None) == 0
me = str(os.getpid())
os.mkdir("/proc/" + me)
os.symlink(me, "/proc/self")
open(f"/proc/{me}/stat", "w").write(f"{me} (bash) S 1 {me} {me} 0" + " 0" * 40)
os.execv(sys.argv[1], sys.argv[1:])
"""
BOUND_PROC = """
import ctypes, os, sys, time
while not os.path.exists("go"): time.sleep(0.05)
old, me = f"/proc/{sys.argv[1]}".encode(), f"/proc/{os.getpid()}".encode()
for name in (b"/stat", b"/ns"):
    assert ctypes.CDLL(None).mount(old + name, me + name, None, 4096, None) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""
THE_ENGINES_NUMBER = """
import os, sys, time
open("/proc/sys/kernel/ns_last_pid", "w").write(str(int(sys.argv[1]) - 1))
child = os.fork()
if child == 0: os.execlp("sh", "sh", "-c", "sleep 60; : toolguard_engine")
while b"toolguard_engine" not in open(f"/proc/{child}/cmdline", "rb").read(): time.sleep(0.01)
while not os.path.exists("go"): time.sleep(0.05)
os.execv(sys.argv[2], sys.argv[2:])
"""
SPACES = {
    "a faked /proc": ("-Urm", FAKED_PROC, ""),
    "another process's files in /proc": ("-Urm", BOUND_PROC, "PERSON"),
    "the engine's number": ("-Urpf --mount-proc", THE_ENGINES_NUMBER, "ENGINE"),
    "users of its own": ("-Ur", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])", ""),
}


NO_NAMESPACES = [
    (r"unshare failed: Operation not permitted", "the kernel forbids this user to make a user namespace"),
    (r"unshare failed: No space left on device", "the kernel allows no more user namespaces (user.max_user_namespaces)"),
    (r"unshare failed: (?:Invalid argument|Function not implemented)", "the kernel is built without user namespaces"),
    (r"/proc/self/(?:uid_map|gid_map|setgroups)\S*: (?:Operation not permitted|Permission denied)",
     "the kernel, or a security module, forbids to map users in a namespace"),
    (r"mount /proc failed: (?:Operation not permitted|Permission denied)",
     "the kernel does not let a container with a masked /proc mount another one"),
    (r"cannot change root filesystem propagation: (?:Operation not permitted|Permission denied)",
     "a security module forbids to mount in a namespace"),
]  # fmt: skip
"""What `unshare` says where the kernel is the cause, and in other words what that is."""


@pytest.fixture(scope="module")
def unshares() -> None:
    done = subprocess.run([needed("unshare"), "-Urmpf", "--mount-proc", "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        why = next((why for pattern, why in NO_NAMESPACES if re.search(pattern, done.stderr)), "")
        assert why, f"unshare failed for another reason than the kernel's: {done.stderr}"
        pytest.skip(f"{why}, so there is no such way around: {done.stderr.strip()}")


@each_row(
    ("said", "known"),
    [
        ("unshare: unshare failed: Operation not permitted", True),
        ("unshare: unshare failed: No space left on device", True),
        ("unshare: write failed /proc/self/uid_map: Operation not permitted", True),
        ("unshare: mount /proc failed: Operation not permitted", True),
        ("unshare: unrecognized option '--mount-proc'", False),
        ("unshare: failed to execute true: No such file or directory", False),
    ],
)
def test_only_the_kernels_no_leaves_tests_out(said: str, *, known: bool) -> None:
    assert any(re.search(pattern, said) for pattern, _ in NO_NAMESPACES) is known


@pytest.mark.usefixtures("unshares")
@pytest.mark.parametrize("name", SPACES)
def test_a_namespace_of_its_own_makes_no_person(made: Machine, name: str) -> None:
    options, code, argument = SPACES[name]
    made.start_gateway()
    argument = {"PERSON": str(os.getpid()), "ENGINE": str(made.engine)}.get(argument, "")
    (made.root / "way.py").write_text(code)
    text = made.script.read_text()
    made.script.write_text(text.replace(str(SCRIPT), f"unshare {options} {sys.executable} way.py {argument} {SCRIPT}"))
    made.below_the_gateway("setsid", "-f", "sh", "-c", made.line)
    (made.root / "go").touch()
    assert "was started " in refused(made)


@pytest.mark.usefixtures("unshares")
def test_a_terminal_whose_holder_is_outside_of_the_namespace(made: Machine) -> None:
    made.start_gateway()
    made.below_the_gateway(*python(READS_AND_TYPES, f"unshare -Urpf --mount-proc {made.line}"))
    assert "in which the gateway does not run" in refused(made)


# tmux


ENDS_TMUX = """
import os, signal, subprocess, sys
sys.stdin.read()
done = subprocess.run([*sys.argv[1:], "display-message", "-p", "#{pid}"], capture_output=True, text=True)
if done.stdout.strip().isdecimal(): os.kill(int(done.stdout), signal.SIGKILL)
"""
"""Ends the server of a socket, by its process, once nobody holds the other end of its standard input."""


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[list[str]]:
    """A server of its own on a socket in the test's folder. It ends with the test, also where the run is killed."""
    command = [needed("tmux"), "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]
    with subprocess.Popen(python(ENDS_TMUX, *command), stdin=subprocess.PIPE, start_new_session=True) as watcher:
        yield command
        watcher.communicate(timeout=LIMIT)
    left = subprocess.run([*command, "list-sessions"], check=False, capture_output=True)
    assert left.returncode != 0, "the server of tmux is still there"


def on_terminal(command: list[str]) -> Terminal:
    return Terminal(command, program=None)


def test_tmux_with_nobody_attached(made: Machine, tmux: list[str]) -> None:
    made.start_gateway()
    made.below_the_gateway(*tmux, "new-session", "-d", made.line)
    assert "no person is attached to tmux" in refused(made)


def test_tmux_that_only_the_agent_looks_at(made: Machine, tmux: list[str]) -> None:
    made.start_gateway()
    made.below_the_gateway(*tmux, "new-session", "-d", made.line)
    made.below_the_gateway("setsid", "-f", "script", "-qfc", " ".join([*tmux, "attach"]), "/dev/null")
    until(lambda: subprocess.run([*tmux, "list-clients"], check=False, capture_output=True).stdout, "nobody attached")
    assert "no person is attached to tmux" in refused(made)


@pytest.fixture
def attached(places: Places, tmp_path: Path, tmux: list[str]) -> Iterator[tuple[Machine, Terminal]]:
    """A person's own tmux, older than the guard, on a terminal that the tests hold."""
    seen = on_terminal([*tmux, "new-session", "sh"])
    try:
        until(lambda: subprocess.run([*tmux, "list-clients"], check=False, capture_output=True).stdout, "nobody attached")
        with machine(places, tmp_path) as made:
            made.start_gateway()
            yield made, seen
    finally:
        seen.close()


def test_a_person_in_tmux_types_the_code(attached: tuple[Machine, Terminal], tmux: list[str]) -> None:
    made, seen = attached
    words = " ".join(["toolguard", "approve", made.entry.nonce, "--yes", *made.at])
    seen.type(f"PATH={Path(sys.executable).parent}:$PATH {words}\n")
    text = seen.until("press Enter")
    assert "make release" in text
    seen.type("y\n")
    seen.until("was not approved")
    assert made.status == "pending"
    seen.type(f"PATH={Path(sys.executable).parent}:$PATH {words}\n")
    code = seen.until("press Enter").rpartition("Type ")[2].split()[0]
    seen.type(f"{code}\n")
    until(lambda: made.status == "approved", seen.seen)


def test_an_agent_that_types_blindly_into_a_persons_tmux(attached: tuple[Machine, Terminal], tmux: list[str]) -> None:
    made, seen = attached
    made.script.write_text(made.script.read_text().replace("</dev/null >output 2>&1", ""))
    made.below_the_gateway(*tmux, "new-window", made.line)
    made.below_the_gateway(*tmux, "send-keys", "y", "Enter", "yes", "Enter", made.entry.nonce, "Enter")
    (made.root / "go").touch()
    seen.until("press Enter")
    made.below_the_gateway(*tmux, "send-keys", "y", "Enter")
    until((made.root / "code").exists, "the script never ended")
    assert made.status == "pending"


# persons


def test_a_login_by_ssh_may_say_yes_without_a_terminal(places: Places, tmp_path: Path) -> None:
    with daemon(tmp_path, "sshd") as send, machine(places, tmp_path) as made:
        made.start_gateway()
        send(f"SSH_CONNECTION='192.0.2.7 50000 192.0.2.1 22' sh {made.script}")
        assert (made.attempt()[0], made.status) == (0, "approved")


def test_a_login_by_ssh_from_here_may_be_the_agents(places: Places, tmp_path: Path) -> None:
    with daemon(tmp_path, "sshd") as send, machine(places, tmp_path) as made:
        made.start_gateway()
        send(f"SSH_CONNECTION='127.0.0.1 50000 127.0.0.1 22' sh {made.script}")
        assert "by a login from this machine" in refused(made)


def test_a_program_that_was_there_before_the_guard(places: Places, tmp_path: Path) -> None:
    with daemon(tmp_path, "builder") as send, machine(places, tmp_path) as made:
        made.start_gateway()
        send(made.line)
        assert (made.attempt()[0], made.status) == (0, "approved")


def test_a_new_shell_in_a_terminal_that_was_there_before(made: Machine) -> None:
    made.start_gateway()
    (made.root / "go").touch()
    shown = on_terminal(["sh", "-c", f"exec sh {made.script}"])
    try:
        assert shown.end() == 0
    finally:
        shown.close()
    assert made.status == "approved"
