"""macOS: what `ps` tells about processes. There are no control groups and no subreapers; nobody is told an audit session or
the other side of a terminal, for which the process stands that began the terminal's session."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from toolguard_cli import children
from toolguard_cli.person.system import MARK, Process, is_local, is_marked

LIMIT_SECONDS = 5.0
FIELDS = "pid=,ppid=,uid=,tty=,lstart=,comm="
_DATE_WORDS = 5
_FOLDERS = ("/System/", "/usr/", "/bin/", "/sbin/", "/Library/")
_APPLICATIONS = "/Applications/"
"""What a person puts there belongs to that person."""


class MacOS:
    def process(self, pid: int) -> Process | None:
        return self._processes.get(pid)

    @cached_property
    def _processes(self) -> dict[int, Process]:
        env = environments(_ps("-Axww", "-E", "-o", "pid=,command="))
        return {each.pid: each for each in parse(_ps("-Axww", "-o", FIELDS), env)}

    def adopters(self) -> frozenset[int]:
        return frozenset({1})

    def local_logins(self) -> bool:
        return False

    def holders(self, tty: str) -> list[int] | None:
        del tty
        return None

    def clients(self, server: Process) -> list[int]:
        """All clients of that program: whose server they belong to is not told."""
        name = Path(server.program).name
        return [
            each.pid for each in self._processes.values() if Path(each.program).name == name and each.tty and each != server
        ]


def parse(listed: str, env: dict[int, dict[str, str]]) -> list[Process]:
    """The processes in what `ps -o FIELDS` printed. A line of another form is left out."""
    found = []
    for line in listed.splitlines():
        words = line.split(None, 4 + _DATE_WORDS)
        with suppress(ValueError, IndexError):
            pid, ppid, uid = map(int, words[:3])
            tty = "" if words[3] in ("??", "?", "-") else words[3]
            # Whole seconds, rounded down: the end of that second, so that a process never looks older than it is.
            started = time.mktime(time.strptime(" ".join(words[4:9]), "%a %b %d %H:%M:%S %Y")) + 1
            program, mine = words[9].strip(), env.get(pid, {})
            found.append(
                Process(
                    pid,
                    ppid,
                    started=started,
                    sid=_session(pid),
                    tty=tty,
                    uid=uid,
                    name=Path(program).name.removeprefix("-"),
                    program=program,
                    trusted=uid == 0 != os.geteuid() or _is_systems(program),
                    marked=is_marked(mine),
                    local_login=is_local(mine.get("SSH_CONNECTION", "").replace(",", " ")),
                )
            )
    return found


def environments(listed: str) -> dict[int, dict[str, str]]:
    """The variable that marks an agent's programs, from what `ps -E` prints behind each command. It stands there only for
    processes of this user; an argument that looks like it counts as well."""
    found = {}
    for line in listed.splitlines():
        pid, _, rest = line.strip().partition(" ")
        marks = [word.partition("=")[2] for word in rest.split() if word.startswith(f"{MARK}=")]
        clients = [word.partition("=")[2] for word in rest.split() if word.startswith("SSH_CONNECTION=")]
        if pid.isdecimal():
            found[int(pid)] = {MARK: marks[-1] if marks else "", "SSH_CONNECTION": clients[-1] if clients else ""}
    return found


def _ps(*options: str) -> str:
    """Empty if it does not answer: then nothing is seen, and nothing is proven."""
    try:
        return children.ask(["/bin/ps", *options], LIMIT_SECONDS, env={"LC_ALL": "C", "PATH": "/bin:/usr/bin"}).output
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _is_systems(program: str) -> bool:
    try:
        found = Path(program).stat()
    except OSError:
        return False
    if program.startswith(_APPLICATIONS):
        return True
    return program.startswith(_FOLDERS) and found.st_uid == 0 and not found.st_mode & 0o022
