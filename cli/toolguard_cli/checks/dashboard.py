"""Can the dashboard have its port."""

from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from toolguard_cli.checks.check import Check, Subject
from toolguard_engine import answers

ID = "dashboard"
PORT = "metrics.dashboard.port"
PROC = Path("/proc")
_LISTENS = "0A"
_OURS = re.compile(r"toolguard_(?:cli|engine)|/toolguard(?: |\Z)")


def port(subject: Subject) -> Check:
    own = subject.settings.metrics.dashboard
    if not (subject.settings.metrics.enabled and own.enabled):
        return Check(ID, "ok", "it is off")
    where, data = f"{own.bind}:{own.port}", {"bind": own.bind, "port": own.port}
    problem = _bound(own.bind, own.port)
    if problem is None:
        return Check(ID, "ok", f"{where} is free", data=data)
    if problem != errno.EADDRINUSE:
        said = os.strerror(problem) if problem > 0 else "there is no such address"
        return Check(ID, "error", f"{where}: {said}", subject.set_command("metrics.dashboard.bind", "127.0.0.1"), data)
    pid, command = next(_listeners(own.port), (0, ""))
    if _OURS.search(command):
        return Check(ID, "ok", f"it answers at {where} (process {pid})", data=data)
    who = f"process {pid} ({answers.cut(command, 60)})" if pid else "another program"
    free = _free(own.bind, own.port)
    mend = subject.set_command(PORT, str(free)) if free else "end that program"
    return Check(ID, "error", f"{where} is taken by {who}", mend, data)


def _bound(address: str, number: int) -> int | None:
    """Why the port cannot be had, as an `errno`; None where it can. Nothing listens on it at any time."""
    try:
        family, kind, protocol, _, name = socket.getaddrinfo(address, number, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(name)
    except socket.gaierror:
        return -1
    except OSError as error:
        return error.errno or -1
    return None


def _free(address: str, taken: int) -> int:
    """A port near the taken one that nobody has."""
    return next((number for number in range(taken + 1, min(taken + 100, 65_536)) if _bound(address, number) is None), 0)


def _listeners(number: int) -> Iterator[tuple[int, str]]:
    """Process and command line of who listens on this port, where the system tells."""
    sockets = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _inodes(PROC / "net" / table, number)}
    for folder in PROC.glob("[0-9]*") if sockets else ():
        try:
            if any(os.readlink(link) in sockets for link in (folder / "fd").iterdir()):  # noqa: PTH115 - not a path
                words = (folder / "cmdline").read_bytes().split(b"\0")
                yield int(folder.name), b" ".join(words).decode(errors="replace").strip()
        except OSError:
            continue  # it is another user's, or has ended


def _inodes(table: Path, number: int) -> Iterator[str]:
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return
    yield from (row[9] for row in rows if row[3] == _LISTENS and int(row[1].rpartition(":")[2], 16) == number)
