"""Rooms on the kernel of this machine: what a contained command cannot reach, by whatever way, and what it still can."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import room_stage
import unprivileged
from effort import ALL, examples, some
from room_stage import SECRET, RoomStage
from toolguard_engine.config.containment_settings import ContainmentConfig
from toolguard_engine.containment.profile import profile
from toolguard_engine.containment.room_places import RoomPlaces
from toolguard_engine.server.rooms import ENTER, MAX_RETIRED


@pytest.fixture(scope="module")
def stage() -> Iterator[RoomStage]:
    room_stage.needed()
    made = RoomStage()
    yield made
    made.close()


@pytest.fixture
def room(stage: RoomStage) -> int:
    stage.furnish()
    return stage.room()


def test_a_command_has_its_own_exit_code_streams_and_environment(stage: RoomStage, room: int) -> None:
    text = 'echo "$GIVEN $PWD $#"; echo complaint >&2; kill -TERM $$'
    plain, held = (stage.run("/bin/bash", "-c", text, "name", "an argument", room=each, GIVEN="it's") for each in (0, room))
    assert held == plain
    assert (held.code, held.out) == (-15, f"it's {stage.workspace} 1\n")


def test_the_environment_is_the_same(stage: RoomStage, room: int) -> None:
    plain, held = (sorted(stage.shell("env", each).out.splitlines()) for each in (0, room))
    assert held == plain


def test_the_probe_finds_nothing(stage: RoomStage) -> None:
    assert stage.ask("probe", rules=stage.rules())["found"] == ""


def test_the_probe_finds_what_a_rule_does_not_hold(stage: RoomStage) -> None:
    """A rule for a folder that does not exist when its room is made, but when it is probed, would be such a one."""
    late = stage.home / "late"
    rules = [*stage.rules(), ("read-only", str(late), "")]
    room = stage.room(rules=rules)
    assert stage.run("mkdir", str(late), room=room).code == 0
    assert stage.ask("probe", rules=rules)["found"] == ""
    assert stage.run("touch", str(late / "new"), room=stage.room(rules=rules)).code != 0


WAYS_IN = (
    "cat {state}/toolguard/key",
    "cat ../toolguard/key",
    "cat {state}/workspace/../toolguard/key",
    "cd {state} && cat toolguard/key",
    "ln -s {state}/toolguard link && cat link/key",
    "ln {state}/toolguard/key hard && cat hard",
    "cat /proc/self/cwd/../toolguard/key",
    "cat /proc/self/root{state}/toolguard/key",
    "cat /proc/$PPID/root{state}/toolguard/key",
    "cat /proc/$PPID/cwd/../toolguard/key",
    "cat /proc/1/root{state}/toolguard/key",
    "for p in /proc/[0-9]*; do cat $p/root{state}/toolguard/key $p/cwd/../toolguard/key; done 2>/dev/null",
    "for fd in /proc/[0-9]*/fd/*; do cat $fd/toolguard/key $fd/../toolguard/key; done 2>/dev/null",
    "for fd in 3 4 5 6 7 8 9 10 11 12; do cat /proc/self/fd/$fd/toolguard/key; done",
    "umount {state}; cat {state}/toolguard/key",
    "unshare -U -m -r sh -c 'umount {state}; umount -l {state}; cat {state}/toolguard/key'",
    "unshare -U -m -r sh -c 'mkdir -p d && mount --bind {home} d && cat d/.openclaw/toolguard/key'",
    "unshare -U -m -r sh -c 'mkdir -p d && mount --rbind / d && umount d{state}; cat d{state}/toolguard/key'",
    "unshare -U -m -r -p -f sh -c 'mount -t proc proc /proc; cat /proc/1/root{state}/toolguard/key'",
    "unshare -U -m -r sh -c 'mkdir u w m; mount -t overlay o -o lowerdir={home},upperdir=u,workdir=w m; cat m/.o*/t*/key'",
    "nsenter -U -m --preserve-credentials -t {keeper} sh -c 'umount {state}; cat {state}/toolguard/key'",
    "nsenter -m -t {driver} cat {state}/toolguard/key",
    "mv {state} {home}/moved; cat {home}/moved/toolguard/key",
    "mv {home} {home}2; cat {home}2/.openclaw/toolguard/key",
    "cp -a {home} copy; cat copy/.openclaw/toolguard/key",
    "find / -xdev -name key -path '*toolguard*' -exec cat {{}} + 2>/dev/null",
    "debugfs -R 'cat {state}/toolguard/key' $(df --output=source {home} | tail -1)",
)


@pytest.mark.parametrize("way", some(WAYS_IN))
def test_the_key_is_read_by_no_way(stage: RoomStage, room: int, way: str) -> None:
    text = way.format(state=stage.state, home=stage.home, keeper=room, driver=stage._process.pid)
    assert SECRET not in stage.shell(text, room).out
    assert (stage.state / "toolguard/key").read_text() == SECRET


WRITES = (
    "echo x > {state}/toolguard/kill-switch",
    "mkdir {state}/toolguard",
    "echo x >> {state}/openclaw.json",
    "echo x > new && mv new {state}/openclaw.json",
    "echo x >> {state}/cache/shell-snapshots/a.sh",
    "echo x > new && mv -f new {state}/cache/shell-snapshots/a.sh",
    "rm -rf {state}/cache",
    "echo x >> {home}/.bashrc",
    "sed -i s/mine/x/ {home}/.bashrc",
    "echo x > new && mv -f new {home}/.bashrc",
    "rm -f {home}/.bashrc",
    "ln -f {home}/.bashrc hard && echo x >> hard",
    "echo x >> {home}/.ssh/authorized_keys",
    "mv {home}/.ssh {home}/.ssh2 && mkdir {home}/.ssh && echo x > {home}/.ssh/authorized_keys",
    "echo x > {home}/.config/systemd/user/b.service",
    "mv {home}/.config {home}/c && mkdir -p {home}/.config/systemd/user && echo x > {home}/.config/systemd/user/b.service",
    "cd {home}/.config && mv systemd s; mkdir -p systemd/user; echo x > systemd/user/b.service",
    "rm -rf {state}",
    "mv {state} {home}/moved; mkdir {state}",
    "mount -o remount,rw {home}/.bashrc; echo x >> {home}/.bashrc",
    "unshare -U -m -r sh -c 'mount -o remount,bind,rw {home}/.bashrc; echo x >> {home}/.bashrc'",
)


@pytest.mark.parametrize("way", some(WRITES))
def test_nothing_that_is_kept_can_be_changed(stage: RoomStage, room: int, way: str) -> None:
    before = _kept(stage)
    stage.shell(way.format(state=stage.state, home=stage.home), room)
    assert _kept(stage) == before


def _kept(stage: RoomStage) -> dict[str, tuple[int, bytes]]:
    """What lies in the places that the rules keep, outside of the room."""
    tops = (stage.state, stage.home / ".bashrc", stage.home / ".ssh", stage.home / ".config")
    files = [
        path for top in tops for path in (top, *top.rglob("*")) if path.is_file() and stage.workspace not in path.parents
    ]
    return {str(path): (path.stat().st_ino, path.read_bytes()) for path in files}


def test_what_is_not_kept_is_as_without_a_room(stage: RoomStage, room: int) -> None:
    text = "echo x > made && mv made ~/Documents/made && rm ~/Documents/made && cat notes.md ~/Documents/report.txt"
    done = stage.shell(text, room)
    assert (done.code, done.out) == (0, "notesreport")


def test_calls_share_one_room(stage: RoomStage, room: int) -> None:
    """They see and signal each other's programs, and read what `strace`, `lsof` and `fuser` read of them."""
    started = stage.ask(
        "start", room=room, argv=["/bin/sh", "-c", "exec 7< notes.md; echo up; exec sleep 600"], cwd=str(stage.workspace)
    )
    pid = started["pid"]
    try:
        seen = stage.shell(
            f"readlink /proc/{pid}/fd/7; tr '\\0' '\\n' < /proc/{pid}/environ | grep -c ^HOME=; kill {pid}", room
        )
    finally:
        code = stage.ask("end", pid=pid, kill=True)["code"]
    assert seen.out == f"{stage.workspace}/notes.md\n1\n"
    assert code == -15


def test_the_secrets_of_a_process_outside_are_not_read(stage: RoomStage, room: int) -> None:
    outside = stage.ask("start", room=0, argv=["/bin/sh", "-c", "echo up; exec sleep 600"], env={"TOKEN": SECRET})["pid"]
    try:
        way = f"cat /proc/{outside}/environ; cat /proc/{outside}/cwd/../toolguard/key; cat /proc/{outside}/maps"
        plain, held = (stage.shell(way, each) for each in (0, room))
    finally:
        stage.ask("end", pid=outside, kill=True)
    assert SECRET in plain.out
    assert held.out == ""


TRACES = """\
import ctypes, os, sys
libc, pid = ctypes.CDLL(None), int(sys.argv[1])
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
own = ctypes.create_string_buffer(8)
mine, other = Part(ctypes.addressof(own), 8), Part(int(sys.argv[2], 16), 8)
print(libc.process_vm_readv(pid, ctypes.byref(mine), 1, ctypes.byref(other), 1, 0) == 8)
print(libc.syscall(438, os.pidfd_open(pid), 0, 0) >= 0)  # pidfd_getfd
print(libc.ptrace(16, pid, 0, 0) == 0)  # PTRACE_ATTACH
"""


def _is_named(pid: int, name: str) -> bool:
    return Path(f"/proc/{pid}/comm").read_text().rstrip("\n") == name


def test_the_memory_and_the_descriptors_of_a_process_outside_are_not_reached(stage: RoomStage, room: int) -> None:
    waiting = ["/bin/sh", "-c", "echo up; exec sleep 600"]
    for each, expected in ((0, "True\n" * 3), (room, "False\n" * 3)):
        outside = stage.ask("start", room=0, argv=waiting)["pid"]
        try:
            _until(partial(_is_named, outside, "sleep"))  # its memory lies elsewhere once the shell has become it
            start = stage.shell(f"grep -m1 ' r--p ' /proc/{outside}/maps").out.partition("-")[0]
            done = stage.run(sys.executable, "-I", "-S", "-c", TRACES, str(outside), start, room=each)
        finally:
            stage.ask("end", pid=outside, kill=True)
        assert done.out == expected, done.err


def test_start_up_files_are_written_behind_their_door_only(stage: RoomStage, room: int) -> None:
    change = "echo A=1 > ~/.bashrc && sed -i s/A=1/A=2/ ~/.bashrc && cat ~/.bashrc"
    assert stage.shell(change, room).out == ""
    assert stage.shell(change, stage.room(doors=["startup"])).out == "A=2\n"
    assert stage.shell("cat ../toolguard/key", stage.room(doors=["startup"])).out == ""
    (stage.home / ".bashrc").write_text("# mine")


def test_a_keeper_that_is_killed_is_replaced_and_its_commands_go_on(stage: RoomStage, room: int) -> None:
    before = stage.room()
    text = "echo up; while [ ! -e go ]; do sleep 0.02; done; cat ../toolguard/key; touch ended"
    started = stage.ask("start", room=before, argv=["/bin/sh", "-c", text], cwd=str(stage.workspace))
    stage.ask("kill", room=before)
    _until(lambda: not _is_running(before))
    gone = stage.shell("echo ran", before)
    assert (gone.code, gone.out) == (125, "")
    assert gone.err == "toolguard: the room of this command is gone; try again; nothing was run\n"
    after = stage.room()
    assert after != before
    assert stage.shell("cat ../toolguard/key || echo kept", after).out == "kept\n"
    stage.shell("touch go", after)
    assert stage.ask("end", pid=started["pid"])["code"] == 0
    stage.shell("rm go ended", after)


@pytest.mark.parametrize("moment", range(examples(100)))
def test_a_keeper_that_is_killed_while_a_command_enters(stage: RoomStage, room: int, moment: int) -> None:
    """The command is in its room, or does not run: never outside, never half inside."""
    command = f"/bin/sh {ENTER} {room} /bin/sh -c 'cat ../toolguard/key 2> /dev/null || echo kept; cat /proc/self/uid_map'"
    done = stage.shell(f"(sleep 0.00{moment:02}; kill -9 {room}) & {command}; code=$?; wait; exit $code")
    assert done.out.split() in (["kept", *_only_user()], [])
    assert (done.code == 0) == (done.out != "")


def test_who_holds_the_rooms_is_killed_while_commands_enter(stage: RoomStage) -> None:
    """As when a gateway is killed with its engine, at a hundred moments: each command is in its room with all that it hides,
    or does not run, and nothing is left behind."""
    seen, outside = stage.workspace / "seen", str(Path("/proc/self/ns/user").readlink())
    text = "{ readlink /proc/self/ns/user; cat ../toolguard/key; } >> seen 2> /dev/null"
    mounts, moments = _mounts(), 100 if ALL else 5
    for moment in range(moments):
        entering = {"room": stage.room(), "argv": ["/bin/sh", "-c", text], "cwd": str(stage.workspace)}
        stage.kill_driver(0.05 * moment / moments, "launch", count=4, **entering)
        _until(lambda: stage.of_user() == {stage._process.pid}, 600)
        lines = seen.read_text().splitlines() if seen.exists() else []
        assert all(line.startswith("user:[") and line != outside for line in lines), lines
        seen.unlink(missing_ok=True)
    stage.run("/bin/sh", "-c", text, room=stage.room())
    assert len(seen.read_text().splitlines()) == 1
    seen.unlink()
    assert _mounts() == mounts


def _only_user() -> list[str]:
    uid = str(unprivileged.UID if os.geteuid() == 0 else os.getuid())
    return [uid, uid, "1"]


def test_a_process_that_holds_no_room_is_not_entered(stage: RoomStage) -> None:
    for pid in (str(stage._process.pid), "1", "0", "x", ""):
        done = stage.run("/bin/sh", str(ENTER), pid, "/bin/echo", "ran")
        assert done.out == ""
        assert done.code != 0


def test_a_process_in_another_room_than_the_gateways_is_not_entered(stage: RoomStage, room: int) -> None:
    """The number of a keeper that has ended may come to be that of a browser's process, which is in namespaces as well."""
    argv = ["unshare", "-U", "-m", "--map-current-user", "/bin/sh", "-c", "echo up; exec sleep 600"]
    other = stage.ask("start", room=0, argv=argv)["pid"]
    way = f"_tg_kept={stage.state}/toolguard; . {ENTER}"
    try:
        found = {pid: stage.run("/bin/sh", "-c", way, "sh", str(pid), "/bin/echo", "ran") for pid in (other, room)}
    finally:
        stage.ask("end", pid=other, kill=True)
    assert [(each.code, each.out) for each in found.values()] == [(125, ""), (0, "ran\n")], found


def test_an_open_folder_is_not_carried_in(stage: RoomStage, room: int) -> None:
    """By a low descriptor it is closed, by a high one the command does not run."""
    for number, code in ((5, 0), (25, 125)):
        text = f'import os,sys; os.dup2(os.open("{stage.state}/toolguard", 0), {number}); os.execv("/bin/sh", sys.argv[1:])'
        argv = ["sh", str(ENTER), str(room), "/bin/sh", "-c", f"cat /proc/self/fd/{number}/key; echo ran"]
        done = stage.run(sys.executable, "-c", text, *argv)
        assert SECRET not in done.out
        assert (done.code, "ran" in done.out) == (code, code == 0)


def test_an_older_nsenter_enters_as_well(stage: RoomStage, room: int) -> None:
    text = "cat ../toolguard/key 2> /dev/null; echo $PWD ${OLDPWD-none} $# $1; ls -l /proc/self/fd | grep -c home; exit 3"
    command = ["/bin/bash", "-c", text, "name", "it's"]
    plain = stage.run(*command)
    direct, old = (stage.run("/bin/sh", str(ENTER), *way, str(room), *command) for way in (["--wdns"], []))
    assert direct == old
    assert (direct.code, direct.out) == (3, plain.out.removeprefix(SECRET))


def test_a_folder_that_is_hidden_is_not_entered(stage: RoomStage, room: int) -> None:
    done = stage.run("/bin/echo", "ran", room=room, cwd=stage.state / "toolguard")
    assert (done.code, done.out) == (125, "")
    assert "is hidden from commands" in done.err


def test_a_file_that_is_replaced_outside_gets_its_rule_again(stage: RoomStage) -> None:
    before = stage.room()
    new = stage.home / "new"
    new.write_text("# by the person")
    new.rename(stage.home / ".bashrc")
    stage.own()
    assert stage.room() != before
    assert stage.shell("echo x >> ~/.bashrc", stage.room()).code != 0
    assert stage.shell("echo late", before).out == "late\n"


def test_a_door_opens_what_it_is_for(stage: RoomStage) -> None:
    rules = [*stage.rules(), ("hide", f"{stage.home}/.ssh/id_ed25519", "ssh")]
    shut, opened = stage.room(rules=rules), stage.room(rules=rules, doors=["ssh"])
    assert shut != opened
    assert stage.shell("cat ~/.ssh/id_ed25519", shut).out == ""
    assert stage.shell("cat ~/.ssh/id_ed25519", opened).out == "private"
    assert stage.shell("cat ../toolguard/key", opened).out == ""
    assert stage.room(rules=rules) == shut


ASKS = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('answered')"


@pytest.mark.parametrize(
    ("name", "door"), [(".pm2/rpc.sock", "tasks"), (".colima/docker.sock", "docker"), ("api", "docker")]
)
def test_a_server_that_runs_what_it_is_told_is_behind_its_door(stage: RoomStage, name: str, door: str) -> None:
    """`api`: where a variable of the gateway says that it is."""
    path = stage.home / name
    stage.shell(f"mkdir -p {path.parent}")
    stage.ask("listen", path=str(path))
    places = RoomPlaces(stage.host, runtime=str(stage.home / "run"), environment={"DOCKER_HOST": f"unix://{stage.home}/api"})
    rules = [(rule.kind, str(rule.path), rule.door) for rule in profile(ContainmentConfig(), places)]
    asking = (sys.executable, "-I", "-S", "-c", ASKS, str(path))
    shut, opened = stage.room(rules=rules), stage.room(rules=rules, doors=[door])
    assert [stage.run(*asking, room=room).out for room in (shut, opened)] == ["", "answered\n"]


def test_a_rule_for_a_link_is_one_for_what_it_leads_to(stage: RoomStage) -> None:
    (stage.home / "link").symlink_to(stage.home / "Documents")
    try:
        room = stage.room(rules=[*stage.rules(), ("hide", f"{stage.home}/link", "")])
        assert stage.shell("cat ~/link/report.txt ~/Documents/report.txt; ls ~/Documents", room).out == ""
    finally:
        (stage.home / "link").unlink()


def test_the_door_outside_and_no_rules_mean_no_room(stage: RoomStage) -> None:
    assert stage.ask("entrance", rules=stage.rules(), doors=["outside"])["room"] == -1
    assert stage.ask("entrance", rules=[])["room"] == -1


def test_the_number_of_rooms_is_bounded(stage: RoomStage) -> None:
    made = [
        stage.room(rules=[*stage.rules(), ("read-only", f"{stage.home}/Documents", f"door{n}")], doors=[]) for n in range(12)
    ]
    assert len(set(made)) == 12
    _until(lambda: sum(map(_is_running, made)) <= 8 + MAX_RETIRED)
    assert _is_running(made[-1])


def test_a_folder_can_be_writable_while_all_else_is_read_only(stage: RoomStage) -> None:
    rules = [*stage.rules(), ("read-only", "/", ""), ("write", str(stage.workspace), ""), ("write", "/dev", "")]
    room = stage.room(rules=rules)
    assert stage.shell("echo x > ok && rm ok && echo x > /dev/null && echo wrote", room).out == "wrote\n"
    assert stage.shell("echo x > ~/Documents/no; rm -rf ~/Documents; ls ~/Documents", room).out == "report.txt\n"


def test_offline_leaves_the_loopback(stage: RoomStage) -> None:
    room = stage.room(rules=[*stage.rules(), ("offline", "/", "")])
    text = (
        "import socket\n"
        "s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); print('ok')\n"
        "print(sorted(name for _, name in socket.if_nameindex()))"
    )
    assert stage.run(sys.executable, "-I", "-c", text, room=room).out == "ok\n['lo']\n"


def test_files_of_root_that_a_program_checks_are_copies(stage: RoomStage) -> None:
    folder = stage.top / "included"
    folder.mkdir()
    (folder / "a.conf").write_text("a")
    (folder / "b.conf").symlink_to(folder / "a.conf")
    room = stage.room(rules=[*stage.rules(), ("own", str(folder), "")])
    done = stage.shell(
        f"stat -c %u {folder}/a.conf {folder}/b.conf; cat {folder}/*; echo x > {folder}/a.conf || echo kept", room
    )
    uid = stage.shell("id -u").out.strip()
    assert done.out == f"{uid}\n{uid}\naakept\n"


def test_nothing_stays_behind(stage: RoomStage, room: int) -> None:
    mounts = _mounts()
    before = sorted(map(str, stage.home.rglob("*")))
    for _ in range(20):
        stage.shell("true", stage.room())
    assert sorted(map(str, stage.home.rglob("*"))) == before
    assert _mounts() == mounts


def test_the_keeper_ends_with_who_made_it() -> None:
    room_stage.needed()
    own = RoomStage()
    room = own.room()
    assert _is_running(room)
    own._process.kill()
    own.close()
    _until(lambda: not _is_running(room))


@pytest.mark.parametrize(("what", "named"), [("limit", "max_user_namespaces"), ("filter", "seccomp")])
def test_what_prevents_rooms_is_named_with_its_fix(what: str, named: str) -> None:
    room_stage.needed()
    own = RoomStage()
    try:
        own.ask("forbid", what=what)
        found = own.ask("entrance", rules=own.rules())
        assert found["room"] == 0
        assert named in found["cause"]
        assert found["fix"]
        assert own.ask("probe")["found"] == found["cause"]
    finally:
        own.close()


def test_the_keeper_is_small(stage: RoomStage) -> None:
    status = Path(f"/proc/{stage.room()}/status").read_text()
    resident = int(status.partition("VmRSS:")[2].split()[0])
    assert resident < 15_000


def _mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()


def _is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def _until(condition: object, seconds: float = 30) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
