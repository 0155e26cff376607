"""Faults in the file system calls of one operation: the process is killed there, or the call fails.

The operation runs in forked children of a process that has loaded everything, on a copy of one prepared folder. `Points`
counts the calls on that folder. They are what Python audits (open, rename, link, remove, mkdir, chmod, flock, listing ...),
and what is wrapped here: writes, syncs and stat. SQLite's own calls and reads are not seen; `strace` injects those.
"""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn

KILL, TORN = "kill", "torn"
ERRORS = {name: getattr(errno, name) for name in ("ENOSPC", "EIO", "EACCES")}
READS = ("stat", "lstat", "os.listdir", "os.scandir", "read")
GROWS = ("create", "write", "sync", "os.mkdir", "os.link")
"""What a full disk refuses."""

AUDITED = {
    **{f"os.{name}": 1 for name in ("remove", "rmdir")},
    **{f"os.{name}": 2 for name in ("mkdir", "chmod")},
    **{f"os.{name}": 0 for name in ("rename", "link", "symlink", "chown", "truncate", "utime", "listdir", "scandir")},
    "fcntl.flock": 0,
}
"""The audit events, and which argument names the folder that a path is relative to; 0 for none."""


TRACED_READS = ("pread64", "getdents64", "newfstatat", "fstat", "statx")
TRACED = (
    *("openat", "write", "pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate", "flock", "fcntl", "rename", "link"),
    *("unlink", "unlinkat", "mkdir", "rmdir", "chmod", "fchmod", "sendfile", "copy_file_range", *TRACED_READS),
)


@dataclass(frozen=True)
class Fault:
    """`at`: the number of the call. A fault after the last call is a kill once all is done."""

    at: int = -1
    kind: str = ""


class Points:
    """Counts the calls on what lies below `root`, and makes one of them fail."""

    def __init__(self, root: Path, fault: Fault = Fault()) -> None:
        self.seen: list[str] = []
        self._root, self._fault, self._inside = f"{root}/", fault, False

    def hit(self, name: str, path: object, folder: int = -1, torn: Callable[[], object] | None = None) -> bool:
        """Whether the call may be done. False: only a part of it fits on the disk, and was done."""
        if self._inside or not (where := self._below(path, folder)):
            return True
        at, kind = len(self.seen), self._fault.kind
        self.seen.append(f"{name} {where}")
        if at == self._fault.at:
            if torn and kind in (TORN, "ENOSPC"):
                torn()
                if kind == "ENOSPC":
                    return False
            if kind in (KILL, TORN):
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(ERRORS[kind], os.strerror(ERRORS[kind]), where)
        if kind == "ENOSPC" and 0 <= self._fault.at < at and name in GROWS:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), where)
        return True

    def _below(self, path: object, folder: int) -> str:
        """The path if it is ours, else an empty text."""
        if not isinstance(path, str | bytes | int | os.PathLike):
            return ""
        self._inside = True
        try:
            name = _opened_as(path) if isinstance(path, int) else os.fsdecode(path)
            base = _opened_as(folder) if folder >= 0 else str(Path.cwd())
        except OSError:
            return ""
        finally:
            self._inside = False
        found = os.path.normpath(f"{base}/{name}") if not name.startswith("/") else name
        return found if f"{found}/".startswith(self._root) else ""

    def install(self) -> None:
        """For the rest of this process."""
        sys.addaudithook(self._audit)
        real_write, real_open = os.write, io.open
        points = self

        def write(handle: int, data: Any) -> int:
            part = memoryview(data)[: max(1, len(data) // 2)]
            whole = points.hit("write", handle, torn=lambda: real_write(handle, part))
            return real_write(handle, data) if whole else len(part)

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                return write(self.fileno(), data)

        def opened(file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **more: Any) -> Any:
            if not set(mode) & set("wax+"):
                return real_open(file, mode, buffering, *rest, **more)
            how = {name: more.pop(name) for name in ("closefd", "opener") if name in more}
            raw = Raw(file, mode.replace("b", "").replace("t", ""), **how)
            buffer = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            return buffer if "b" in mode else io.TextIOWrapper(buffer, *rest, **more)

        def wrapped(real: Callable[..., Any], name: str) -> Callable[..., Any]:
            def call(path: Any, *rest: Any, **more: Any) -> Any:
                folder = more.get("dir_fd")
                points.hit(name, path, -1 if folder is None else folder)
                return real(path, *rest, **more)

            return call

        os.write, io.open, builtins.open = write, opened, opened  # type: ignore[assignment]
        for name in ("fsync", "fdatasync"):
            setattr(os, name, wrapped(getattr(os, name), "sync"))
        for name in ("stat", "lstat"):
            setattr(os, name, wrapped(getattr(os, name), name))
        os.sendfile = wrapped(os.sendfile, "write")

    def _audit(self, event: str, values: tuple[Any, ...]) -> None:
        if event == "open":
            self.hit("create" if values[2] & (os.O_CREAT | os.O_TRUNC) else "read", values[0])
        elif (place := AUDITED.get(event)) is not None:
            self.hit(event, values[0], values[place] if place and isinstance(values[place], int) else -1)


def _opened_as(handle: int) -> str:
    return str(Path(f"/proc/self/fd/{handle}").readlink())


def faults(seen: list[str]) -> list[Fault]:
    """All faults of an operation that made these calls."""
    found = [Fault(len(seen), KILL)]
    for at, name in enumerate(call.partition(" ")[0] for call in seen):
        kinds = ["EIO", "EACCES"] if name in READS else [KILL, *ERRORS, *([TORN] if name == "write" else [])]
        found += [Fault(at, kind) for kind in kinds]
    return found


def in_child(work: Callable[[], Any], before: Callable[[int], None] = lambda _: None) -> Any:
    """What `work` returns in a forked child, as JSON; None if the child was killed. `before`: is given the child's id."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        _run_and_leave(work, theirs)
    os.close(theirs)
    before(child)
    with os.fdopen(ours, "rb") as file:
        said = file.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else None


def _run_and_leave(work: Callable[[], Any], pipe: int) -> NoReturn:
    write = os.write
    with suppress(BaseException):
        try:
            said = work()
        except BaseException:  # noqa: BLE001 - the parent reports it
            said = {"code": 3, "text": traceback.format_exc()}
        write(pipe, json.dumps(said).encode())
    os._exit(0)


def traced(child: int, log: Path, inject: str = "") -> None:
    """Has `strace` write the file system calls of a child that has stopped itself, and lets it go on. `inject`: a fault."""
    os.waitpid(child, os.WUNTRACED)
    command = [
        "strace",
        "-y",
        "-o",
        str(log),
        "-e",
        f"trace={','.join(TRACED)}",
        *(["-e", inject] if inject else []),
        "-p",
        str(child),
    ]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert tracer.stderr is not None
    assert b"attached" in (said := tracer.stderr.readline()), said
    os.kill(child, signal.SIGCONT)
    Thread(target=tracer.communicate).start()


def trace_faults(log: Path, root: Path) -> list[tuple[str, str]]:
    """All faults of the calls below `root` in this log: the option that injects one, and where it is."""
    count, found = Counter[str](), []
    for line in log.read_text(errors="replace").splitlines():
        name = line.partition("(")[0]
        count[name] += 1
        if f"{root}/" in line:
            kinds = [f"error={kind}" for kind in ERRORS] + ([] if name in TRACED_READS else ["signal=SIGKILL"])
            found += [(f"inject={name}:{kind}:when={count[name]}", line[:200]) for kind in kinds]
    return found


def put_back(template: Path, live: Path) -> None:
    shutil.rmtree(live, ignore_errors=True)
    shutil.copytree(template, live, symlinks=True)
