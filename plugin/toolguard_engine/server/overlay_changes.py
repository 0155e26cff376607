"""Reads from the upper folder of an overlay what was changed below its root.

In an overlay's upper folder, a removed entry is a character device with the number 0, and a folder that replaces another one
has an attribute. What is there besides is new or was changed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from toolguard_engine.containment.rehearsed_changes import After, Before, RehearsedChange
from toolguard_engine.server.present_state import before
from toolguard_engine.stores import system_calls

MAX_CHANGES = 20_000
MAX_DEPTH = 200
OPAQUE = "user.overlay.opaque"
BLOCK = 1 << 20


class TooMuchError(Exception):
    """More was changed than can be shown or made."""


def changes(root: str, upper: str) -> list[RehearsedChange]:
    """The changes, folders before what is in them. Raises `TooMuchError` and `OSError`."""
    entries = []
    for change in _in_folder(root, upper, 0):
        entries.append(change)
        if len(entries) > MAX_CHANGES:
            raise TooMuchError(f"it changes more than {MAX_CHANGES} files")
    return entries


def _in_folder(path: str, upper: str, depth: int, *, is_new: bool = False) -> Iterator[RehearsedChange]:
    if depth > MAX_DEPTH:
        raise TooMuchError("it makes folders too deep")
    names = sorted(os.listdir(upper))
    if is_new:
        yield from _removed(path, frozenset(names), depth)
    for name in names:
        yield from _entry(os.path.join(path, name), os.path.join(upper, name), depth)


def _entry(path: str, made: str, depth: int) -> Iterator[RehearsedChange]:
    made_status = os.lstat(made)
    was = before(path)
    mode = stat.S_IMODE(made_status.st_mode)
    if stat.S_ISCHR(made_status.st_mode) and made_status.st_rdev == 0:
        if was.what == "folder":
            yield from _removed(path, frozenset(), depth)
        if was.what != "nothing":
            yield RehearsedChange(path, was, After())
    elif stat.S_ISDIR(made_status.st_mode):
        if was.what != "folder" or was.mode != mode:
            yield RehearsedChange(path, was, After("folder", mode))
        is_new = was.what == "folder" and OPAQUE in system_calls.attributes(made)
        yield from _in_folder(path, made, depth + 1, is_new=is_new)
    elif stat.S_ISLNK(made_status.st_mode):
        yield from _removed(path, frozenset(), depth) if was.what == "folder" else ()
        yield from _link(path, was, os.readlink(made))
    elif stat.S_ISREG(made_status.st_mode):
        yield from _removed(path, frozenset(), depth) if was.what == "folder" else ()
        after = After("file", mode, made_status.st_size, made_status.st_mtime_ns, kept=made)
        yield from _file(path, was, after)
    # A socket or a pipe is of use to the program that made it, and that has ended.


def _link(path: str, was: Before, target: str) -> Iterator[RehearsedChange]:
    if was.what != "link" or os.readlink(path) != target:
        yield RehearsedChange(path, was, After("link", link=target))


def _file(path: str, was: Before, after: After) -> Iterator[RehearsedChange]:
    is_same = was.what == "file" and was.size == after.size and _is_same(path, after.kept)
    if not is_same or was.mode != after.mode or was.modified != after.modified:
        yield RehearsedChange(path, was, after, is_same)


def _is_same(one: str, other: str) -> bool:
    with open(one, "rb") as first, open(other, "rb") as second:
        while block := first.read(BLOCK):
            if block != second.read(BLOCK):
                return False
    return True


def _removed(path: str, kept: frozenset[str], depth: int) -> Iterator[RehearsedChange]:
    """All that lay in a folder that is gone, but for what the overlay has in its place: innermost first."""
    if depth > MAX_DEPTH:
        raise TooMuchError("it removes folders too deep")
    for name in sorted(os.listdir(path)):
        if name in kept:
            continue
        inner = os.path.join(path, name)
        was = before(inner)
        if was.what == "folder":
            yield from _removed(inner, frozenset(), depth + 1)
        yield RehearsedChange(inner, was, After())
