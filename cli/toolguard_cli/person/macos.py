"""macOS: processes, from psutil. There are no control groups and no subreapers. Audit sessions and the other end of a
terminal are not visible; the leader of the terminal's session stands in for the latter."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolguard_cli.person.system_facts import ProcessInfo, is_local, is_marked

if TYPE_CHECKING:
    import psutil

_FOLDERS = ("/System/", "/usr/", "/bin/", "/sbin/", "/Library/")
_APPLICATIONS = "/Applications/"
"""Files in this folder may belong to the user."""


class MacOS:
    def process(self, pid: int) -> ProcessInfo | None:
        return self._processes.get(pid)

    @cached_property
    def _processes(self) -> dict[int, ProcessInfo]:
        import psutil  # noqa: PLC0415 - not needed on Linux

        processes = {}
        for listed in psutil.process_iter():
            with suppress(psutil.Error):  # it has ended
                processes[listed.pid] = _process(listed)
        return processes

    def adopters(self) -> frozenset[int]:
        return frozenset({1})

    def local_logins(self) -> bool:
        return False

    def holders(self, tty: str) -> list[int] | None:
        del tty
        return None

    def clients(self, server: ProcessInfo) -> list[int]:
        name = Path(server.program).name
        return [
            process.pid
            for process in self._processes.values()
            if Path(process.program).name == name and process.tty and process != server
        ]


def _process(known: psutil.Process) -> ProcessInfo:
    """Fields that another user's process hides are empty. Raises `psutil.Error`."""
    import psutil  # noqa: PLC0415 - as above

    def field(name: str) -> Any:
        with suppress(psutil.AccessDenied, psutil.ZombieProcess, OSError):
            return getattr(known, name)()
        return None

    env: dict[str, str] = field("environ") or {}
    uid, program = known.uids().effective, field("exe") or ""
    return ProcessInfo(
        known.pid,
        known.ppid(),
        started=known.create_time(),
        sid=_session(known.pid),
        tty=(field("terminal") or "").removeprefix("/dev/"),
        uid=uid,
        name=field("name") or "",
        program=program,
        trusted=uid == 0 != os.geteuid() or _is_systems(program),
        marked=is_marked(env),
        local_login=is_local(env.get("SSH_CONNECTION", "")),
    )


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _is_systems(program: str) -> bool:
    try:
        stat = Path(program).stat()
    except OSError:
        return False
    if program.startswith(_APPLICATIONS):
        return True
    return program.startswith(_FOLDERS) and stat.st_uid == 0 and not stat.st_mode & 0o022
