"""Saves what is at paths, before a call changes it.

A file that is removed gets another name (a hard link), which takes no time and no room while it is there. One whose content
may be replaced in place is cloned where the file system can share blocks, else copied up to `MAX_COPIED` bytes.
Links are not followed: a link that is put on the way to a file leads to nothing.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec

from toolguard_engine.effects.calls.replaced_content import ReplacedContent
from toolguard_engine.stores import unlinked_paths
from toolguard_engine.stores.undo import kept_content
from toolguard_engine.stores.undo.undo_entry import SavedPath

MAX_PATHS = 5_000
MAX_COPIED = 32_000_000
"""Bytes that are copied for one call. A disk writes them in about 50 ms."""

MAX_DEPTH = 100
MAX_LEFT_OUT = 10
_LINKED = frozenset({"removed", "moved"})


class TooManyPathsError(Exception):
    """More is changed than is saved for one call."""


class OverdueError(Exception):
    """The call runs already."""


class UndoSaving:
    """Saves for one call into `folder`, which exists, at most `most` bytes. `is_left_out`: whether content at a real path
    must never be kept. `is_over`: whether the call may have begun: what is saved after that may be the new content."""

    def __init__(
        self, folder: Path, most: float, is_left_out: Callable[[str], bool], is_over: Callable[[], bool] = lambda: False
    ) -> None:
        self._folder = folder
        self._most = most
        self._is_left_out = is_left_out
        self._is_over = is_over
        self._known: dict[str, SavedPath] = {}
        self._moved_to: dict[str, str] = {}
        """The place before the call of what is moved, by where it is moved to."""
        self._copied = 0
        self._kept = 0
        self.size = 0
        self.left_out: list[str] = []

    @property
    def paths(self) -> tuple[SavedPath, ...]:
        return tuple(self._known.values())

    def save(self, changes: tuple[ReplacedContent, ...], unread: tuple[str, ...] = ()) -> None:
        """Saves as much as the limits allow; `left_out` says what is missing, beginning with `unread`."""
        for reason in unread:
            self._leave_out(reason)
        try:
            for change in sorted(
                changes, key=lambda content: content.way in _LINKED
            ):  # what may change in place is copied first
                for path in self._meant(change.path):
                    self._change(change, path)
        except TooManyPathsError as error:
            self._leave_out(str(error))
        except OverdueError:
            self._leave_out("it took too long; the rest was not saved")

    def _meant(self, path: str) -> Iterator[str]:
        """The paths that are there, or come there by an earlier move of the call. A name may look like a pattern."""
        if os.path.lexists(path) or path in self._moved_to or not glob.has_magic(path):
            yield path
            return
        yield from self._matching("/", path.strip("/").split("/"))

    def _matching(self, folder: str, parts: list[str]) -> Iterator[str]:
        """The paths below a folder that match. `glob` cannot be stopped while it finds nothing."""
        part, *rest = parts
        for name in self._named(folder, part):
            path = os.path.join(folder, name)
            if not rest:
                yield path
            elif os.path.isdir(path):
                yield from self._matching(path, rest)

    def _named(self, folder: str, part: str) -> list[str]:
        """The names in a folder that match, as a shell sees it: hidden ones only if the pattern begins with a dot."""
        self._look_at_time()
        if not glob.has_magic(part):
            return [part] if os.path.lexists(os.path.join(folder, part)) else []
        real = []
        with suppress(OSError), os.scandir(folder) as names:
            for name in names:
                self._look_at_time()
                if name.name.startswith(".") <= part.startswith(".") and fnmatch.fnmatchcase(name.name, part):
                    real.append(name.name)
        return real

    def _change(self, change: ReplacedContent, path: str) -> None:
        try:
            match change.way:
                case "removed" | "rewritten":
                    self._tree(path, may_link=change.way == "removed")
                case "replaced":
                    self._written(path)
                case "moved":
                    self._moved(path, change.target)
                case "copied":
                    self._under_copy(path, self._landing(path, change.target, merged=change.merged))
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            self._leave_out(f"{path}: {error.strerror or error}")

    def present(self, path: str) -> None:
        """Saves what is at a path now, also that there is nothing; it is about to be removed or to get another file in its
        place. Raises `OSError` and the errors of this module."""
        if os.path.lexists(path):
            self._tree(path, may_link=True)
        else:
            self._add(SavedPath(path, "nothing"))

    def moves_back(self, saved: SavedPath) -> None:
        """Notes that what was moved goes back to its old place. Raises as `present` does."""
        self._add(msgspec.structs.replace(saved, path=saved.leads_to, leads_to=saved.path, kept=""))

    def _written(self, path: str) -> None:
        """A file; a link as well as what it leads to, since a program may replace the one or write to the other."""
        if os.path.islink(path):
            self._tree(path, may_link=False)
        if os.path.isfile(path):
            self._tree(os.path.realpath(path), may_link=False)

    def _moved(self, path: str, target: str) -> None:
        lands = self._landing(path, target, merged=False)
        if (before := self._moved_to.pop(path, None)) is not None:  # it was moved to `path` by the same call
            self._moved_to[lands] = before
            self._known[before] = msgspec.structs.replace(self._known[before], leads_to=resolved(lands))
            return
        with suppress(FileNotFoundError, NotADirectoryError):
            if lands not in self._leaving:
                self._tree(lands, may_link=True)
        real = resolved(path)
        status = os.lstat(real)
        if self._is_left_out(real) or not self._is_text(real + lands):
            return
        kept = ""
        if stat.S_ISREG(status.st_mode) and status.st_dev != _device(lands):
            kept = self._content(real, status, may_link=status.st_nlink == 1) or ""
        mode, size = stat.S_IMODE(status.st_mode), status.st_size
        saved = SavedPath(
            real, "moved", mode, size, status.st_mtime_ns, kept, resolved(lands), inode=status.st_ino, device=status.st_dev
        )
        self._add(saved)
        self._moved_to[lands] = real

    @property
    def _leaving(self) -> frozenset[str]:
        """What is moved away by the same call."""
        return frozenset(self._moved_to.values())

    def _landing(self, source: str, target: str, *, merged: bool) -> str:
        """Where a file or folder lands: in a folder that is there, under its own name."""
        if merged or target in self._leaving or not os.path.isdir(target):
            return target
        return os.path.join(target, os.path.basename(source.rstrip("/")))

    def _under_copy(self, source: str, target: str) -> None:
        """Those files that have the name of one that is copied."""
        if not os.path.isdir(source):
            self._written(target)
            return
        for folder, _, names in os.walk(source):
            self._look_at_time()
            beside = os.path.normpath(os.path.join(target, os.path.relpath(folder, source)))
            if os.path.isdir(beside):
                for name in names:
                    self._written(os.path.join(beside, name))

    def _tree(self, path: str, *, may_link: bool, depth: int = 0) -> None:
        """A file, a link, or a folder with all that is in it. What cannot be read in a folder is left out alone."""
        real = resolved(path) if depth == 0 else path
        status = os.lstat(real)
        if real in self._known or self._is_left_out(real) or not self._is_text(real):
            return
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode):
            self._add(SavedPath(real, "link", mode, leads_to=os.readlink(real)))
        elif stat.S_ISREG(status.st_mode):
            kept = self._content(real, status, may_link=may_link and status.st_nlink == 1)  # else it changes by another name
            if kept is not None:
                self._add(SavedPath(real, "file", mode, status.st_size, status.st_mtime_ns, kept))
        elif stat.S_ISDIR(status.st_mode):
            self._add(SavedPath(real, "folder", mode, modified=status.st_mtime_ns))
            if depth >= MAX_DEPTH:
                self._leave_out(f"{real}: too many folders in each other")
                return
            for inner in self._names(real):
                try:
                    self._tree(inner, may_link=may_link, depth=depth + 1)
                except OSError as error:
                    self._leave_out(f"{inner}: {error.strerror or error}")

    def _names(self, folder: str) -> list[str]:
        with os.scandir(folder) as names:
            paths = [name.path for name in islice(names, MAX_PATHS + 1)]
        return sorted(paths)

    def _content(self, real: str, status: os.stat_result, *, may_link: bool) -> str | None:
        """Keeps the content of a file; returns its name in the folder, None if it is left out."""
        self._look_at_room()
        size = max(status.st_blocks * 512, kept_content.LEAST_SIZE)
        if self.size + size > self._most:
            self._leave_out(f"{real}: it would take too much of the room that there is for undo")
            return None
        self._kept += 1
        name = str(self._kept)
        kept = self._folder / name
        with unlinked_paths.parent(real) as (folder, base):
            if not (may_link and kept_content.linked(folder, base, kept)):
                most = MAX_COPIED - self._copied
                count = -1
                if status.st_size <= most:
                    count = kept_content.copied(folder, base, kept, most, self._look_at_time)
                if count < 0:
                    self._leave_out(f"{real}: more than {MAX_COPIED // 1_000_000} MB would have to be copied")
                    return None
                self._copied += count
        if self._is_over():
            kept.unlink(missing_ok=True)
            raise OverdueError
        self.size += size
        return name

    def _add(self, saved: SavedPath) -> None:
        self._look_at_time()
        self._look_at_room()
        if self._is_text(saved.leads_to):
            self._known.setdefault(saved.path, saved)

    def _is_text(self, path: str) -> bool:
        """Whether a path can be written down."""
        try:
            path.encode()
        except UnicodeEncodeError:
            self._leave_out(f"{path}: its name is not UTF-8")
            return False
        return True

    def _look_at_room(self) -> None:
        if len(self._known) >= MAX_PATHS:
            raise TooManyPathsError(f"more than {MAX_PATHS:,} files and folders are changed")

    def _look_at_time(self) -> None:
        if self._is_over():
            raise OverdueError

    def _leave_out(self, reason: str) -> None:
        if len(self.left_out) < MAX_LEFT_OUT:
            self.left_out.append(os.fsencode(reason).decode("utf-8", "replace"))


def resolved(path: str) -> str:
    """The same entry, with no link on the way to it."""
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.join(os.path.realpath(folder), name)


def _device(path: str) -> int:
    """That of the folder that a path is in, or will be."""
    above = os.path.dirname(resolved(path))
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    return os.stat(above).st_dev
