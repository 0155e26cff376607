"""Saves what is at paths, before a call changes it.

A file that is removed gets another name (a hard link), which takes no time and no room while it is there. One whose content
may be replaced in place is cloned where the file system can share blocks, else copied up to `MAX_COPIED` bytes.
Links are not followed: a link that is put on the way to a file leads to nothing.
"""

from __future__ import annotations

import errno
import glob
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec

from toolguard_engine.effects.calls.replaced_content import ReplacedContent
from toolguard_engine.stores import system_calls, unlinked_paths
from toolguard_engine.stores.undo.undo_entry import SavedPath

MAX_PATHS = 5_000
MAX_COPIED = 32_000_000
"""Bytes that are copied for one call. A disk writes them in about 50 ms."""

MAX_MATCHES = 1_000
MAX_LEFT_OUT = 10
_BLOCK = 1 << 20
_LINKED = frozenset({"removed", "moved"})
_NO_LINK = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES})
"""Another disk; a file of somebody else; a file system without links."""


class TooManyPathsError(Exception):
    """More is changed than is saved for one call."""


class OverdueError(Exception):
    """The call runs already."""


class UndoSaving:
    """Saves for one call into `folder`, which exists. `is_left_out`: whether content at a real path must never be kept.
    `is_over`: whether the call may have begun: what is saved after that may be the new content."""

    def __init__(
        self, folder: Path, is_left_out: Callable[[str], bool], is_over: Callable[[], bool] = lambda: False
    ) -> None:
        self._folder = folder
        self._is_left_out = is_left_out
        self._is_over = is_over
        self._known: dict[str, SavedPath] = {}
        self._copied = 0
        self.size = 0
        self.left_out: list[str] = []

    @property
    def paths(self) -> tuple[SavedPath, ...]:
        return tuple(self._known.values())

    def save(self, changes: tuple[ReplacedContent, ...]) -> None:
        """Saves as much as the limits allow; `left_out` says what is missing."""
        try:
            for change in sorted(changes, key=lambda each: each.way in _LINKED):  # what may change in place is copied first
                for path in _meant(change.path):
                    self._change(change, path)
        except TooManyPathsError as error:
            self._leave_out(str(error))
        except OverdueError:
            self._leave_out("it took too long; the rest was not saved")

    def _change(self, change: ReplacedContent, path: str) -> None:
        try:
            match change.way:
                case "removed" | "rewritten":
                    self._tree(path, may_link=change.way == "removed")
                case "replaced":
                    self._present(path)
                case "moved":
                    self._moved(path, change.target)
                case "copied":
                    self._under_copy(path, _landing(path, change.target, merged=change.merged))
        except OSError as error:
            self._leave_out(f"{path}: {error.strerror or error}")

    def present(self, path: str) -> None:
        """Saves what is at a path now, also that there is nothing. Raises `OSError` and the errors of this module."""
        if os.path.lexists(path):
            self._tree(path, may_link=False)
        else:
            self._add(SavedPath(path, "nothing"))

    def moves_back(self, saved: SavedPath) -> None:
        """Notes that what was moved goes back to its old place. Raises as `present` does."""
        self._add(msgspec.structs.replace(saved, path=saved.leads_to, leads_to=saved.path))

    def _present(self, path: str) -> None:
        """A file; a link as well as what it leads to, since a program may replace the one or write to the other."""
        if os.path.islink(path):
            self._tree(path, may_link=False)
        if os.path.isfile(path):
            self._tree(os.path.realpath(path), may_link=False)

    def _moved(self, path: str, target: str) -> None:
        lands = _landing(path, target, merged=False)
        with suppress(FileNotFoundError):
            self._tree(lands, may_link=True)
        real = _real(path)
        found = os.lstat(real)
        if not self._is_left_out(real):
            self._add(SavedPath(real, "moved", leads_to=_real(lands), inode=found.st_ino, device=found.st_dev))

    def _under_copy(self, source: str, target: str) -> None:
        """Those files that have the name of one that is copied."""
        if not os.path.isdir(source):
            self._present(target)
            return
        for folder, _, names in islice(os.walk(source), MAX_MATCHES):
            self._look_at_time()
            beside = os.path.normpath(os.path.join(target, os.path.relpath(folder, source)))
            if os.path.isdir(beside):
                for name in names:
                    self._present(os.path.join(beside, name))

    def _tree(self, path: str, *, may_link: bool) -> None:
        """A file, a link, or a folder with all that is in it."""
        real = _real(path)
        found = os.lstat(real)
        if stat.S_ISDIR(found.st_mode):
            self._folder_of(real, found, may_link=may_link)
        else:
            self._entry(real, found, may_link=may_link)

    def _folder_of(self, real: str, found: os.stat_result, *, may_link: bool) -> None:
        if self._is_left_out(real):
            return
        self._add(SavedPath(real, "folder", stat.S_IMODE(found.st_mode), modified=found.st_mtime_ns))
        with os.scandir(real) as names:
            inner = sorted(names, key=lambda each: each.name)
        for each in inner:
            status = each.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                self._folder_of(each.path, status, may_link=may_link)
            else:
                self._entry(each.path, status, may_link=may_link)

    def _entry(self, real: str, found: os.stat_result, *, may_link: bool) -> None:
        if real in self._known or self._is_left_out(real):
            return
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISLNK(found.st_mode):
            self._add(SavedPath(real, "link", mode, leads_to=os.readlink(real)))
        elif stat.S_ISREG(found.st_mode):
            self._file(real, found, may_link=may_link and found.st_nlink == 1)  # else its content may change by another name

    def _file(self, real: str, found: os.stat_result, *, may_link: bool) -> None:
        name = str(len(self._known))
        kept = self._folder / name
        with unlinked_paths.parent(real) as (folder, base):
            if not (may_link and _linked(folder, base, kept)) and not self._copy(folder, base, kept, found.st_size):
                self._leave_out(f"{real}: more than {MAX_COPIED // 1_000_000} MB would have to be copied")
                return
        try:
            self._add(SavedPath(real, "file", stat.S_IMODE(found.st_mode), found.st_size, found.st_mtime_ns, kept=name))
        except OverdueError:
            kept.unlink(missing_ok=True)
            raise
        self.size += found.st_size

    def _copy(self, folder: int, base: str, kept: Path, size: int) -> bool:
        """False where it would be too much."""
        source = os.open(base, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            with os.fdopen(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                if system_calls.share_blocks(source, file.fileno()):
                    return True
                if self._copied + size <= MAX_COPIED:
                    while block := os.read(source, _BLOCK):
                        self._copied += len(block)
                        if self._copied > MAX_COPIED:  # it grows meanwhile
                            break
                        self._look_at_time()
                        file.write(block)
                    else:
                        return True
            kept.unlink()
        except BaseException:
            kept.unlink(missing_ok=True)
            raise
        finally:
            os.close(source)
        return False

    def _add(self, saved: SavedPath) -> None:
        self._look_at_time()
        if saved.path not in self._known and len(self._known) >= MAX_PATHS:
            raise TooManyPathsError(f"more than {MAX_PATHS:,} files and folders are changed")
        self._known.setdefault(saved.path, saved)

    def _look_at_time(self) -> None:
        if self._is_over():
            raise OverdueError

    def _leave_out(self, reason: str) -> None:
        if len(self.left_out) < MAX_LEFT_OUT:
            self.left_out.append(reason)


def _meant(path: str) -> Iterator[str]:
    """The paths that are there, for one with wildcards."""
    if glob.has_magic(path):
        yield from islice(glob.iglob(path), MAX_MATCHES)
    elif os.path.lexists(path):
        yield path


def _landing(source: str, target: str, *, merged: bool) -> str:
    """Where a file or folder lands: in a folder that is there, under its own name."""
    if merged or not os.path.isdir(target):
        return target
    return os.path.join(target, os.path.basename(source.rstrip("/")))


def _real(path: str) -> str:
    """The same entry, with no link on the way to it."""
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.join(os.path.realpath(folder), name)


def _linked(folder: int, base: str, kept: Path) -> bool:
    try:
        os.link(base, kept, src_dir_fd=folder, follow_symlinks=False)
    except NotImplementedError:  # not every system can do it by an open folder
        return False
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        return False
    return True
