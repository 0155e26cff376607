"""Whether a file of a Git repository is as Git last wrote it, judged by the index alone: no program is started.

The index holds the size and the time of the last change of each tracked file (gitformat-index). A file for which both still
match has no change that Git does not know.
"""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

MAX_INDEX = 16_000_000
"""About 150,000 files. A larger index would take too long to read, once for each file."""

_MAX_LINK = 4_096
_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
_VERSIONS = (2, 3)
"""Version 4 shortens the names, so they cannot be searched for."""


def is_unchanged(path: str) -> bool:
    """Never raises: what cannot be looked up counts as changed. See `_is_unchanged`."""
    try:
        return _is_unchanged(path)
    except (OSError, ValueError):
        return False


def is_committed(path: str) -> bool:
    """Whether a path is a file that Git has exactly as it is. Never raises."""
    try:
        status = os.lstat(path)
        return stat.S_ISREG(status.st_mode) and _is_in_index(path, status) is True
    except (OSError, ValueError):
        return False


def _is_unchanged(path: str) -> bool:
    """Also true where there is nothing that a checkout of this file could destroy: no repository, or no such file. A file
    that the index does not name counts as changed: an older commit may have it. May hang with its file system."""
    try:
        status = os.lstat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        return False
    return _is_in_index(path, status) is not False


def _is_in_index(path: str, status: os.stat_result) -> bool | None:
    """Whether the index has the file as it is; None where there is no index. Raises `OSError`."""
    folder = Path(os.path.realpath(os.path.dirname(path)))  # noqa: PTH120 - Git works in the folder behind links
    tree = repository(folder)
    if tree is None:
        return None
    try:
        index = (tree[1] / "index").open("rb")
    except FileNotFoundError:
        return None
    with index:
        now = os.fstat(index.fileno())
        data = index.read(min(MAX_INDEX, now.st_size) + 1)  # room is made for as much as is asked for
        written = now.st_mtime_ns
    return _matches(data, os.path.relpath(folder / Path(path).name, tree[0]), status, written)


def repository(folder: Path) -> tuple[Path, Path] | None:
    """The top folder of the working tree, and the folder with the index."""
    for above in (folder, *folder.parents):
        place = above / ".git"
        if (place / "HEAD").is_file():  # an empty folder of this name is none
            return above, place
        if place.is_file():
            with place.open("rb") as file:
                text = file.read(_MAX_LINK).decode("utf-8", "replace")
            return above, above / text.removeprefix("gitdir:").strip()
    return None


def _matches(data: bytes, name: str, status: os.stat_result, written: int) -> bool:
    if len(data) < _HEADER.size or len(data) > MAX_INDEX:
        return False
    magic, version, _ = _HEADER.unpack_from(data)
    if magic != b"DIRC" or version not in _VERSIONS:
        return False
    wanted, at = os.fsencode(name), 0
    while (at := data.find(wanted + b"\0", at + 1)) >= 0:
        for more in (0, 2):  # an entry of version 3 may have two more bytes of flags
            start = at - _ENTRY.size - more
            if start < _HEADER.size:
                continue
            *numbers, _, flags = _ENTRY.unpack_from(data, start)
            if (flags & 0x0FFF) != min(len(wanted), 0x0FFF) or bool(flags & 0x4000) != bool(more):
                continue
            seconds, nanoseconds, size = numbers[2], numbers[3], numbers[9]
            changed = (seconds, nanoseconds, size) != (*divmod(status.st_mtime_ns, 1_000_000_000), status.st_size)
            is_racy = status.st_mtime_ns >= written  # changed in the same moment in which the index was written
            return not changed and not is_racy
    return False
