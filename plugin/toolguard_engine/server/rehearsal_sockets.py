"""Keeps servers of this machine from a rehearsed command: what they would do is no change of a copy.

A socket that is seen through an overlay leads nowhere, and a network namespace has abstract ones of its own. What is left
are sockets with a path elsewhere. Those in `/run` may belong to other network namespaces, so all of it is emptied.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from toolguard_engine.server.room_keeper import MS_NODEV, MS_NOSUID, bind, mount

LISTED = "/proc/net/unix"
MAX_SOCKETS = 1000
PATH = 7
"""The column of the list, which ends with it."""

_RUN = ("/run", "/var/run")


def named() -> list[str]:
    """The paths of the sockets in this network namespace. Raises `OSError`, also if there are too many."""
    with open(LISTED, "rb") as file:
        columns = [line.rstrip(b"\n").split(maxsplit=PATH) for line in file]
    paths = {os.fsdecode(column[PATH]) for column in columns if len(column) > PATH and column[PATH].startswith(b"/")}
    if len(paths) > MAX_SOCKETS:
        raise OSError(0, "more sockets than can be kept from a command", LISTED)
    return sorted(paths)


def empty_run(needed: Iterable[str]) -> None:
    """Leaves the links: some systems have their programs behind them. `needed`: folders to mount something on."""
    for run in _RUN:
        if not os.path.isdir(run) or os.path.islink(run):
            continue
        with os.scandir(run) as entries:
            links = {entry.path: os.readlink(entry.path) for entry in entries if entry.is_symlink()}
        mount("tmpfs", run, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=8m")
        for path, target in links.items():
            os.symlink(target, path)
        for folder in needed:
            if folder.startswith(f"{run}/"):
                os.makedirs(folder, exist_ok=True)


def mask(sockets: Iterable[str], roots: Iterable[str]) -> None:
    """`roots`: of overlays."""
    below = tuple(f"{root}/" for root in roots)
    for path in sockets:
        real = os.path.realpath(path)
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):  # then no command gets there either
            if not real.startswith(below) and stat.S_ISSOCK(os.stat(real).st_mode):
                bind("/dev/null", real)
