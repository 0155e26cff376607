"""Ports of this machine: whether one can be had, who has it, and which one near it is free."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

from toolguard_engine import answers

PROC = Path("/proc")
_LISTENS = "0A"


def owner(number: int) -> str:
    """Who listens on this port, for a person."""
    pid, command = next(listeners(number), (0, ""))
    return f"process {pid} ({answers.cut(command, 60)})" if pid else "another program"


def bound(address: str, number: int) -> int | None:
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


def free(address: str, taken: int) -> int:
    """A port near the taken one that nobody has."""
    return next((number for number in range(taken + 1, min(taken + 100, 65_536)) if bound(address, number) is None), 0)


def listeners(number: int) -> Iterator[tuple[int, str]]:
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
