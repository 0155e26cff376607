"""Runs a command on a copy of the user's files: an overlay over each folder that it could change, without network, and with
process ids of its own. What it changes lies in memory until the room ends, and nowhere else.

Three processes: the caller, whose namespaces stay as they are; one that makes the namespaces; and the first process in them,
which mounts, starts the command, and keeps the room until the caller has looked at the changes. Each ends with its parent.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from toolguard_engine.server import rehearsal_sockets, room_keeper
from toolguard_engine.server.room_keeper import MS_NODEV, MS_NOSUID, libc, mount

CLONE_NEWPID, CLONE_NEWIPC = 0x20000000, 0x08000000
MS_NOEXEC = 8
PR_SET_PDEATHSIG = 1
MEMORY = "25%"
"""Of the machine's, for what one command changes."""
MAX_ROOTS = 16
LEFT_SECONDS = 1.0
"""For which programs that a command has started may outlast it."""
MAX_REPORT = 100_000
FAILED = 125
_COUNTED = (("Ip:", "OutNoRoutes"), ("Udp:", "NoPorts"), ("Tcp:", "AttemptFails"))
"""What the kernel counts where a program looks for something outside of the room, or for a server that is not in it."""


class RehearsalError(Exception):
    """No rehearsal can be made here; the text says why."""


class RehearsalRoom(NamedTuple):
    """`roots`: folders to lay an overlay on, outer ones first; `private`: folders that are replaced by empty ones; `rules`:
    of the room, by kind and path; `holder`: a folder of toolguard's own; `watched`: credentials."""

    roots: list[str]
    private: list[str]
    rules: list[tuple[str, str]]
    holder: str
    watched: list[str]


class Ended(NamedTuple):
    """`code`: as `Popen.returncode`; `network`: it looked for something outside; `left`: it started what goes on; `opened`:
    credentials that it opened; `uppers`: where the changes below each root are, until the room is left; `unwatched`:
    credentials of which it is not known whether it opened them."""

    code: int
    network: bool
    left: bool
    opened: list[str]
    uppers: list[str]
    unwatched: list[str]


@contextmanager
def rehearsed(plan: RehearsalRoom, argv: list[str], cwd: str) -> Iterator[Ended]:
    """Runs the command to its end. Its changes can be looked at until the context is left. Raises `RehearsalError`; then
    nothing was run."""
    report, telling = os.pipe()
    kept, keeping = os.pipe()
    maker = os.fork()
    if maker == 0:
        os.close(report)
        os.close(keeping)
        _in_child(lambda: _make(plan, argv, cwd, telling, kept))
    os.close(telling)
    os.close(kept)
    try:
        yield _ended(report, plan)
    finally:
        os.close(report)
        os.close(keeping)
        with suppress(ChildProcessError):
            os.waitpid(maker, 0)


def _ended(report: int, plan: RehearsalRoom) -> Ended:
    """What the room reports: the process that holds it, and how the command ended, each on a line, in any order."""
    data = b""
    while data.count(b"\n") < 2 and len(data) < MAX_REPORT and (more := os.read(report, 65_536)):  # noqa: PLR2004
        data += more
    pid, *rest = sorted(data.decode("utf-8", "replace").splitlines())
    answer: dict[str, Any] = json.loads(rest[0]) if rest else {"error": "its room ended"}
    if "error" in answer:
        raise RehearsalError(answer["error"])
    held = f"/proc/{pid}/fd/{answer['store']}"
    uppers = [f"{held}/u{number}" for number in range(len(plan.roots))]
    return Ended(answer["code"], answer["network"], answer["left"], answer["opened"], uppers, answer["unwatched"])


def _in_child(work: Any) -> None:
    """Never returns: what the caller would do then, a child must not do."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - whatever it is, the room ends with it
        os.write(2, f"toolguard: {error}\n".encode(errors="replace"))
    finally:
        os._exit(FAILED)


def _die_with_parent() -> None:
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _make(plan: RehearsalRoom, argv: list[str], cwd: str, telling: int, kept: int) -> None:
    _die_with_parent()
    try:
        sockets = rehearsal_sockets.named()
        room_keeper.enter_namespaces(room_keeper.CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC)
    except OSError as error:
        _tell(telling, "0", {"error": _words(error)})
        os._exit(FAILED)
    first = os.fork()
    if first == 0:
        _in_child(lambda: _hold(plan, sockets, argv, cwd, telling, kept))
    _tell(telling, str(first))
    os.waitpid(first, 0)
    os._exit(0)


def _tell(telling: int, *lines: Any) -> None:
    os.write(telling, "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines).encode())


def _words(error: OSError) -> str:
    return f"{error.strerror}: {error.filename or ''}".rstrip(": ")


def _hold(plan: RehearsalRoom, sockets: list[str], argv: list[str], cwd: str, telling: int, kept: int) -> None:
    _die_with_parent()
    try:
        store = _furnish(plan, sockets)
    except OSError as error:
        _tell(telling, {"error": _words(error)})
        os._exit(FAILED)
    handle, watched, missed = _watch(plan.watched)
    before = _counted()
    started = os.fork()
    if started == 0:
        _in_child(lambda: _become(argv, cwd))
    code, left = _awaited(started)
    opened = _opened(handle, watched)
    seen = {"network": _counted() > before, "opened": opened, "unwatched": missed}
    data = {"code": code, "left": left, **seen, "store": store}
    _tell(telling, data)
    os.read(kept, 1)
    os._exit(0)


def _furnish(plan: RehearsalRoom, sockets: list[str]) -> int:
    """Makes all mounts. `sockets`: kept from the command. Returns the descriptor of the folder that holds the changes."""
    mask = os.umask(0o022)
    room_keeper.start_loopback()
    room_keeper.make_all_read_only("/")
    mount("tmpfs", plan.holder, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=0700,size={MEMORY}")
    store = os.open(plan.holder, room_keeper.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    real = [os.open(root, room_keeper.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for root in plan.roots]
    rehearsal_sockets.empty_run([*plan.roots, *plan.private])
    for number, root in enumerate(plan.roots):
        _overlay(f"/proc/self/fd/{store}", number, root, f"/proc/self/fd/{real[number]}")
    for folder in plan.private:
        mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=0700,size={MEMORY}")
    room_keeper.furnish(plan.rules)
    rehearsal_sockets.mask(sockets, plan.roots)
    os.umask(mask)
    return store


def _overlay(store: str, number: int, root: str, lower: str) -> None:
    """`lower`: the folder itself, whatever an overlay on a folder above it shows at its path."""
    upper, work = f"{store}/u{number}", f"{store}/w{number}"
    os.mkdir(upper)
    os.mkdir(work)
    os.chmod(upper, stat.S_IMODE(os.stat(root).st_mode))
    mount("overlay", root, "overlay", MS_NOSUID | MS_NODEV, f"userxattr,lowerdir={lower},upperdir={upper},workdir={work}")


def _become(argv: list[str], cwd: str) -> None:
    os.closerange(3, 1024)  # an open folder would lead out of the room
    try:
        os.chdir(cwd)
    except OSError:
        os.write(2, b"toolguard: the folder of this command is hidden from commands; nothing was run\n")
        os._exit(FAILED)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them
    os.execve(argv[0], argv, given_environment())


def given_environment() -> dict[bytes, bytes]:
    """The variables that this process was started with: Python may have added some."""
    with open("/proc/self/environ", "rb") as file:
        parts = [part.partition(b"=") for part in file.read().split(b"\0") if b"=" in part]
    return {name: value for name, _, value in parts}


def _awaited(started: int) -> tuple[int, bool]:
    """The exit code of the command, and whether something that it started went on; that is ended."""
    code = None
    while code is None:
        pid, status = os.wait()
        if pid == started:
            code = os.waitstatus_to_exitcode(status)
    until = time.monotonic() + LEFT_SECONDS
    while _is_anybody_left():
        if time.monotonic() > until:
            os.kill(-1, signal.SIGKILL)
            with suppress(ChildProcessError):
                while True:
                    os.wait()
        time.sleep(0.01)
    return code, time.monotonic() > until


def _is_anybody_left() -> bool:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def _counted() -> int:
    count = 0
    with suppress(OSError, ValueError), open("/proc/net/snmp", encoding="ascii") as file:
        lines = [line.split() for line in file]
        for names, values in zip(lines[::2], lines[1::2], strict=False):
            count += sum(int(values[names.index(name)]) for kind, name in _COUNTED if names[0] == kind and name in names)
    with suppress(OSError, ValueError), open("/proc/net/snmp6", encoding="ascii") as file:
        count += sum(int(line.split()[1]) for line in file if line.startswith("Ip6OutNoRoutes"))
    return count


IN_OPEN, IN_ISDIR, IN_NONBLOCK, IN_CLOEXEC = 0x20, 0x40000000, 0o4000, 0o2000000
_EVENT = 16
MAX_WATCHED = 4000
"""Folders and files."""
_NOT_READ = frozenset({errno.ENOENT, errno.EACCES, errno.ENOTDIR})
"""What cannot be watched because no command of the user's can open it either."""


def _watch(paths: list[str]) -> tuple[int, dict[int, str], list[str]]:
    """Notices which of these files, or which files in these folders and those below, are opened. Returns also those of the
    paths of which not all can be watched."""
    handle = libc.inotify_init1(IN_NONBLOCK | IN_CLOEXEC)
    watched: dict[int, str] = {}
    missed: list[str] = []
    for path in paths:
        for folder in _with_folders(path):
            number = libc.inotify_add_watch(handle, os.fsencode(folder), IN_OPEN) if len(watched) < MAX_WATCHED else -1
            if number >= 0:
                watched[number] = folder
            elif len(watched) >= MAX_WATCHED or ctypes.get_errno() not in _NOT_READ:
                missed.append(path)
                break
    return handle, watched, missed


def _with_folders(path: str) -> Iterator[str]:
    yield path
    for folder, names, _ in os.walk(path):
        yield from (f"{folder}/{name}" for name in names if not os.path.islink(f"{folder}/{name}"))


def _opened(handle: int, paths: dict[int, str]) -> list[str]:
    data = b""
    with suppress(OSError):
        while more := os.read(handle, 65_536):
            data += more
    handles, at = [], 0
    while at + _EVENT <= len(data):
        number, mask = (int.from_bytes(data[at + start : at + start + 4], sys.byteorder) for start in (0, 4))
        length = int.from_bytes(data[at + 12 : at + 16], sys.byteorder)
        name = os.fsdecode(data[at + _EVENT : at + _EVENT + length].rstrip(b"\0"))
        at += _EVENT + length
        if not mask & IN_ISDIR and number in paths:
            handles.append(f"{paths[number]}/{name}".rstrip("/"))
    return list(dict.fromkeys(handles))
