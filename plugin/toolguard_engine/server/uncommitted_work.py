"""Which files of a working tree no commit has, found out without starting Git.

The index says which files Git tracks, and what they were like when it last looked. A file that was changed since then has
content that Git does not know. One that was changed after the last commit may have been added to the index and not
committed.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from toolguard_engine.effects.calls.replaced_content import ReplacedContent
from toolguard_engine.effects.facts.place_names import ARTEFACTS
from toolguard_engine.server import git_index

MAX_TRACKED = 20_000
MAX_UNTRACKED = 5_000
_HEADER = struct.Struct(">4sII")
_NUMBERS = struct.Struct(">10I20sH")
_SHORTENED = 4
"""The version of the index in which a name has only what differs from the name before it."""
_VERSIONS = (2, 3, _SHORTENED)
_EXTENDED, _LENGTH = 0x4000, 0x0FFF
_MORE, _BITS = 0x80, 7
_STASH = ("refs/stash", "logs/refs/stash")


class UnreadIndexError(Exception):
    """The index is missing, too large, or of a form that is not read here; or there are too many files."""


def meant(change: ReplacedContent) -> Iterator[ReplacedContent]:
    """The files that a change is about, if it is one by Git. Raises `UnreadIndexError` and `OSError`, perhaps after some."""
    if change.way not in ("reset", "changed", "untracked", "stashed"):
        yield change
        return
    inside = Path(os.path.realpath(change.path))
    repository = git_index.repository(inside if inside.is_dir() else inside.parent)
    if repository is None:
        return
    top, place = repository
    if change.way == "stashed":
        yield from (ReplacedContent("rewritten", str(place / name)) for name in _STASH)
        return
    inside = top if change.way == "reset" else inside
    paths = _untracked(place, top, inside) if change.way == "untracked" else _changed(place, top)
    for path in paths:
        if path == inside or inside in path.parents:
            yield ReplacedContent("removed", str(path))


def _changed(place: Path, top: Path) -> Iterator[Path]:
    """Tracked files with changes that the last commit does not have, as far as times tell."""
    index = place / "index"
    written, committed = index.stat().st_mtime_ns, _last_commit(place)
    for name, stamp, size in _entries(index):
        path = top / os.fsdecode(name)
        try:
            status = path.lstat()
        except OSError:
            continue  # it is gone already
        is_known = (status.st_mtime_ns, status.st_size) == (stamp, size) and status.st_mtime_ns < written
        if not is_known or status.st_mtime_ns > committed:
            yield path


def _last_commit(place: Path) -> int:
    """When the branch last moved, or another one was checked out; the beginning of time where that is not known."""
    try:
        return (place / "logs" / "HEAD").stat().st_mtime_ns
    except OSError:
        return 0


def _untracked(place: Path, top: Path, inside: Path) -> Iterator[Path]:
    """Files that Git does not track; ignored ones as well, since it may remove those, too. Not what can be built again,
    which is never saved, and often most of all."""
    tracked = {top / os.fsdecode(name) for name, _, _ in _entries(place / "index")}
    count = 0
    for folder, folders, names in os.walk(inside):
        folders[:] = [name for name in folders if name != ".git" and name not in ARTEFACTS]
        count += len(folders)
        for name in names:
            if (path := Path(folder, name)) not in tracked:
                count += 1
                yield path
            if count > MAX_UNTRACKED:
                raise UnreadIndexError(f"{inside}: more than {MAX_UNTRACKED:,} files and folders that Git does not track")


def _entries(index: Path) -> Iterator[tuple[bytes, int, int]]:
    """Name, time of the last change in nanoseconds, and size of each tracked file."""
    if not index.is_file():  # a pipe would never end
        raise UnreadIndexError(f"{index}: it is no file")
    with index.open("rb") as file:
        data = file.read(git_index.MAX_INDEX + 1)
    if len(data) < _HEADER.size or len(data) > git_index.MAX_INDEX:
        raise UnreadIndexError(f"{index}: it cannot be read")
    magic, version, count = _HEADER.unpack_from(data)
    if magic != b"DIRC" or version not in _VERSIONS or count > MAX_TRACKED:
        raise UnreadIndexError(f"{index}: it is not read in this form, or tracks more than {MAX_TRACKED:,} files")
    at, name = _HEADER.size, b""
    for _ in range(count):
        try:
            *numbers, _, flags = _NUMBERS.unpack_from(data, at)
            begins = at + _NUMBERS.size + (2 if flags & _EXTENDED else 0)
            if version == _SHORTENED:
                name, at = _name_after(name, data, begins)
            else:
                ends = data.find(b"\0", begins) if flags & _LENGTH == _LENGTH else begins + (flags & _LENGTH)
                name, at = data[begins:ends], at + (ends - at) // 8 * 8 + 8
        except (struct.error, IndexError, ValueError) as error:
            raise UnreadIndexError(f"{index}: it ends too early") from error
        yield name, numbers[2] * 1_000_000_000 + numbers[3], numbers[9]


def _name_after(before: bytes, data: bytes, at: int) -> tuple[bytes, int]:
    """A shortened name, and where the next entry begins: how much of the name before it goes, and what is added. Raises
    `IndexError` and `ValueError`."""
    gone = data[at] & ~_MORE
    while data[at] & _MORE and gone <= len(before):
        at += 1
        gone = (gone + 1) << _BITS | data[at] & ~_MORE
    ends = data.index(b"\0", at + 1)
    if gone > len(before):
        raise ValueError
    return before[: len(before) - gone] + data[at + 1 : ends], ends + 1
