"""Linux: processes and terminals, from /proc."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path, PurePath

from toolguard_cli.person import program_roles, ssh_ports
from toolguard_cli.person.system_facts import MARK, ProcessInfo, is_local, is_marked

PROC = Path("/proc")
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", 7)
MAX_BYTES = 1024 * 1024
MAX_HANDLES = 200_000
INIT = 1
_FOLDERS = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/opt/", "/snap/", "/nix/store/")
_PTS_MAJORS = range(136, 144)
_CONSOLE, _CONSOLES = 4, 64
_MASTERS = ("/dev/ptmx", "/dev/pts/ptmx")
_ESTABLISHED = "01"
_LOOPBACKS = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")


class Linux:
    def __init__(self) -> None:
        self.process = lru_cache(maxsize=None)(self._process)

    def _process(self, pid: int) -> ProcessInfo | None:
        place = PROC / str(pid)
        try:
            head, _, rest = (place / "stat").read_text(errors="replace").rpartition(")")
            fields = rest.split()
            ppid, session, tty, ticks = int(fields[1]), int(fields[3]), int(fields[4]), int(fields[19])
        except (OSError, ValueError, IndexError):
            return None
        status, program, env = _status(place), _program(place), _environment(place)
        uid = status.get("Uid", -1)
        return ProcessInfo(
            pid,
            ppid,
            started=_booted() + ticks / os.sysconf("SC_CLK_TCK"),
            sid=session,
            tty=_terminal(tty),
            uid=uid,
            name=head.partition("(")[2],
            program=program,
            trusted=uid == 0 != os.geteuid() or (_is_systems(program) and not _is_altered(place, program)),
            group=_group(place),
            audit=_number(place / "sessionid"),
            marked=is_marked(env),
            local_login=_is_from_here(env.get("SSH_CONNECTION", "")),
            tracer=status.get("TracerPid", 0),
        )

    def adopters(self) -> frozenset[int]:
        return self._adopters

    @cached_property
    def _adopters(self) -> frozenset[int]:
        """The nearest subreaper and all ancestors above it."""
        above = list(self._above(os.getpid()))
        reaper = orphans_go_to()
        return frozenset({INIT, *(above[above.index(reaper) :] if reaper in above else above if reaper != INIT else ())})

    def _above(self, pid: int) -> Iterator[int]:
        while (process := self.process(pid)) and process.ppid > INIT:
            pid = process.ppid
            yield pid

    def local_logins(self) -> bool:
        known = filter(None, map(self.process, _pids()))
        ports = ssh_ports.ports(PROC / str(process.pid) for process in known if program_roles.role(process) == "ssh")
        return any(_is_local_login(fields, ports) for fields in _connections())

    def holders(self, tty: str) -> list[int] | None:
        index = tty.removeprefix("pts/")
        return sorted({pid for pid, handle, target in _handles() if target in _MASTERS and _index(pid, handle) == index})

    def clients(self, server: ProcessInfo) -> list[int]:
        """The clients whose terminal the server has open."""
        opened = {target.removeprefix("/dev/") for pid, _, target in _handles((server.pid,)) if target.startswith("/dev/")}
        processes = filter(None, (self.process(pid) for pid in _pids()))
        same = PurePath(server.program).name
        return [
            process.pid for process in processes if process.tty in opened and PurePath(process.program).name == same != ""
        ]


def orphans_go_to() -> int:
    """The ancestor that adopts our orphans, found by creating one; 0 if unknown."""
    try:
        go, reply = os.pipe(), os.pipe()
        child = os.fork()
    except OSError:
        return 0
    if child == 0:
        _leave_orphan(go, reply)
    os.close(go[0])
    os.close(reply[1])
    with os.fdopen(go[1], "wb") as start, os.fdopen(reply[0], "rb") as answer:
        os.waitpid(child, 0)  # from here on the grandchild is an orphan
        with suppress(OSError):
            os.write(start.fileno(), b"x")
        data = answer.read(20)
    return int(data) if data.isdigit() else 0


def _leave_orphan(go: tuple[int, int], reply: tuple[int, int]) -> None:
    with suppress(BaseException):
        if os.fork() == 0:
            os.close(go[1])
            os.close(reply[0])
            if os.read(go[0], 1):
                os.write(reply[1], str(os.getppid()).encode())
    os._exit(0)


def _booted() -> float:
    return time.time() - time.clock_gettime(_BOOT_CLOCK)


def _status(place: Path) -> dict[str, int]:
    """The effective user and the tracer. The owner of the folder is root for every process that is not dumpable."""
    with suppress(OSError, ValueError, IndexError, KeyError):
        lines = (line.split() for line in (place / "status").read_text(errors="replace").splitlines())
        named = {words[0].rstrip(":"): words[1:] for words in lines if words}
        return {"Uid": int(named["Uid"][1]), "TracerPid": int(named.get("TracerPid", ["0"])[0])}
    return {}


def _program(place: Path) -> str:
    try:
        return str((place / "exe").readlink())
    except OSError:
        return ""


def _is_systems(program: str) -> bool:
    """Whether only root can have installed it."""
    if not program.startswith(_FOLDERS):
        return False
    try:
        stat = Path(program).stat()
    except OSError:
        return False
    return stat.st_uid == 0 and not stat.st_mode & 0o022


def _is_altered(place: Path, program: str) -> bool:
    """Whether a terminal emulator or multiplexer runs with foreign code in it."""
    if not program_roles.shows_terminals(program):
        return False
    with suppress(OSError):
        with (place / "environ").open("rb") as file:
            names = {part.partition(b"=")[0] for part in file.read(MAX_BYTES).split(b"\0")}
        if names & {b"LD_PRELOAD", b"LD_AUDIT", b"ELECTRON_RUN_AS_NODE"}:
            return True
        with (place / "maps").open(errors="replace") as lines:
            mapped = {line.split(None, 5)[5].strip() for line in lines if "x" in line.split(None, 2)[1] and "/" in line}
        return any(mapped_file.startswith("/") and not _is_roots(mapped_file) for mapped_file in mapped)
    return False


def _is_roots(path: str) -> bool:
    """Whether root owns the file. One that an update has replaced no longer exists: then its folder counts."""
    try:
        return Path(path).stat().st_uid == 0
    except OSError:
        return path.startswith(_FOLDERS)


def _environment(place: Path) -> dict[str, str]:
    """The two relevant variables from its start; empty for another user's process."""
    try:
        with (place / "environ").open("rb") as file:
            assignments = file.read(MAX_BYTES).split(b"\0")
    except OSError:
        return {}
    pairs = (assignment.decode(errors="replace").partition("=") for assignment in assignments)
    return {name: value for name, _, value in pairs if name in (MARK, "SSH_CONNECTION")}


def _group(place: Path) -> str:
    """Its control group: in the cgroup v2 tree, else in systemd's own tree."""
    with suppress(OSError):
        lines = [line.split(":", 2) for line in (place / "cgroup").read_text(errors="replace").splitlines()]
        named = {tree: path for _, tree, path in (line for line in lines if len(line) == 3)}  # noqa: PLR2004 - id, tree, path
        unified = named.get("", "")
        return unified if unified not in ("", "/") else named.get("name=systemd", unified)
    return ""


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _terminal(number: int) -> str:
    major, minor = (number >> 8) & 0xFFF, (number & 0xFF) | ((number >> 12) & 0xFFF00)
    if number == 0:
        return ""
    if major in _PTS_MAJORS:
        return f"pts/{(major - _PTS_MAJORS.start) * 256 + minor}"
    return f"tty{minor}" if major == _CONSOLE and minor < _CONSOLES else f"{major}:{minor}"


def _pids() -> list[int]:
    return [int(name) for name in os.listdir(PROC) if name.isdecimal()]  # noqa: PTH208 - a third of the time


def _handles(pids: tuple[int, ...] = ()) -> Iterator[tuple[int, str, str]]:
    """Open files as process, number and target; those of other users are not visible."""
    left = MAX_HANDLES
    for pid in pids or _pids():
        folder = f"{PROC}/{pid}/fd"
        with suppress(OSError):
            for handle in os.listdir(folder):  # noqa: PTH208 - as above
                left -= 1
                if left < 0:
                    return
                with suppress(OSError):
                    yield pid, handle, os.readlink(f"{folder}/{handle}")  # noqa: PTH115 - as above


def _index(pid: int, handle: str) -> str:
    """The number of the pseudo-terminal of this master."""
    with suppress(OSError):
        for line in (PROC / str(pid) / "fdinfo" / handle).read_text().splitlines():
            if line.startswith("tty-index:"):
                return line.split()[1]
    return ""


def _connections() -> Iterator[list[str]]:
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            yield from (line.split() for line in (PROC / "net" / name).read_text().splitlines()[1:])


def _is_from_here(connection: str) -> bool:
    return is_local(connection) or _is_own_address((connection.split() or [""])[0].removeprefix("::ffff:"))


def _address(coded: str) -> str:
    """An IPv4 address as /proc/net writes it; empty for others."""
    plain = coded.removeprefix("0000000000000000FFFF0000")
    with suppress(ValueError):
        return socket.inet_ntoa(int(plain, 16).to_bytes(4, sys.byteorder)) if len(plain) == 8 else ""  # noqa: PLR2004
    return ""


def _is_own_address(address: str) -> bool:
    """Whether this machine has the address."""
    kind = socket.AF_INET6 if ":" in address else socket.AF_INET
    with suppress(OSError, ValueError), socket.socket(kind, socket.SOCK_DGRAM) as probe:
        probe.bind((address, 0))
        return bool(address)
    return False


def _is_local_login(fields: list[str], ports: frozenset[int]) -> bool:
    """Whether this is the server side of a connection from this same machine to one of these ports."""
    here, _, port = fields[1].partition(":")
    there = fields[2].partition(":")[0]
    return (
        fields[3] == _ESTABLISHED
        and int(port, 16) in ports
        and (here == there or there in _LOOPBACKS or _is_own_address(_address(there)))
    )
