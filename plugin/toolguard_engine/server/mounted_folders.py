"""Which folders need an overlay of their own, so that all that lies in some folders is covered: an overlay shows nothing of
what is mounted below its root."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from toolguard_engine.server.rehearsal_room import MAX_ROOTS, RehearsalError

_ODD = frozenset(",:\\\n\t \"'")
"""Signs that the options of a mount give a meaning to."""


def roots(folders: Iterable[str], cwd: str = "/", mounts: list[str] | None = None) -> list[str]:
    """The outermost of the folders, and what is mounted in them, outer ones first. Raises `RehearsalError`. `cwd`: of the
    command, which a model chooses: where it cannot have an overlay it is read-only."""
    named = {os.path.realpath(folder) for folder in folders if os.path.isdir(folder)}
    there = sorted({*named, *([] if _is_odd(cwd) else [os.path.realpath(cwd)])}, key=_outer_first)
    mounts = mounted() if mounts is None else mounts
    around: list[str] = []
    for path in there:
        if not any(_is_in(path, mount) and _is_owned(path, mount) for mount in around):
            around.append(path)
    inner = {mount for mount in mounts if any(_is_in(mount, root) for root in around) and _is_changeable(mount)}
    everything = sorted({*around, *inner}, key=_outer_first)
    if len(everything) > MAX_ROOTS:
        raise RehearsalError("too many file systems are mounted in the home folder")
    if odd := next(filter(_is_odd, everything), ""):
        raise RehearsalError(f"a folder has a name that no overlay takes: {odd}")
    return everything


def _outer_first(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _is_odd(path: str) -> bool:
    return path == "/" or not _ODD.isdisjoint(path)


def mounted() -> list[str]:
    """Where file systems are mounted."""
    lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    return [line.split(" ")[4].encode("latin-1", "replace").decode("unicode_escape") for line in lines]


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _is_owned(path: str, above: str) -> bool:
    """Whether all folders between the two belong to the user: an overlay can only change what lies in such."""
    while (path := os.path.dirname(path)) != above and path != "/":
        if os.stat(path).st_uid != os.getuid():
            return False
    return True


def _is_changeable(path: str) -> bool:
    return os.path.isdir(path) and os.access(path, os.W_OK)
