"""Which paths can be looked at without waiting for a file system that may hang: those that lead only through local ones.

The kernel tells that the mounts have changed without being asked for all of them. Where it lists none (macOS), no path is
local.
"""

from __future__ import annotations

import os
import select
import stat
import weakref
from collections.abc import Iterable
from contextlib import suppress

from toolguard_engine import lazy_re

MOUNTS = "/proc/self/mountinfo"
MAX_LINKS = 40
_LOCAL = frozenset({
    "bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "iso9660", "jfs", "ntfs3", "overlay", "ramfs",
    "reiserfs", "rootfs", "squashfs", "tmpfs", "ubifs", "vfat", "xfs", "zfs", "bpf", "cgroup", "cgroup2", "configfs",
    "debugfs", "devpts", "devtmpfs", "efivarfs", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "securityfs",
    "sysfs", "tracefs",
})  # fmt: skip
"""Types of file systems that ask no other machine and no program. What is not here may hang."""

_OCTAL = lazy_re.compile(r"\\([0-7]{3})")
_READY = select.POLLPRI | select.POLLERR if hasattr(select, "POLLPRI") else 0


class LocalDisks:
    """`slow`: the folders at which other file systems begin; None: as this machine has them."""

    def __init__(self, slow: Iterable[str] | None = None) -> None:
        self._slow = frozenset(slow or ())
        self._mounts = _opened() if slow is None else None
        self._is_known = slow is not None
        self._news = select.poll() if self._mounts is not None else None
        if self._news is not None and self._mounts is not None:
            weakref.finalize(self, os.close, self._mounts)
            self._news.register(self._mounts, _READY)
            self._look()

    def _look(self) -> None:
        assert self._mounts is not None  # noqa: S101 - only then it is asked
        self._is_known = False
        with suppress(OSError):
            os.lseek(self._mounts, 0, os.SEEK_SET)
            lines = b""
            while more := os.read(self._mounts, 65_536):
                lines += more
            self._slow = frozenset(_slow_in(os.fsdecode(lines)))
            self._is_known = True

    def real(self, path: str) -> str | None:
        """A path with its links followed as far as they exist; None if it may lead to a file system that hangs."""
        return self._followed(path) if self._knows_mounts() and path[:1] == "/" else None

    def are_local(self, paths: Iterable[str]) -> bool:
        """Whether none of the paths leads to a file system that may hang. Folders around several are looked at once."""
        if not self._knows_mounts():
            return False
        folders: dict[str, str | None] = {}
        for path in paths:
            folder, _, name = path.rpartition("/")
            if path[:1] != "/":
                return False
            if folder not in folders:
                folders[folder] = self._followed(folder)
            if (above := folders[folder]) is None or self._followed(name, "" if above == "/" else above) is None:
                return False
        return True

    def missing(self, paths: Iterable[str]) -> list[str] | None:
        """Those of the paths at which there is nothing, each looked at once; None if one may lead to a file system that
        hangs, or if that is not known. A link is there, wherever it leads."""
        if not self._knows_mounts():
            return None
        folders: dict[str, str | None] = {}
        missing: dict[str, None] = {}
        for path in sorted(paths):  # folders before what is in them
            folder, _, name = path.rpartition("/")
            if path[:1] != "/" or name in ("", ".", ".."):
                return None
            if folder in missing:
                missing[path] = None
                continue
            if folder not in folders:
                folders[folder] = self._followed(folder)
            above = folders[folder]
            if above is None or (at := f"{'' if above == '/' else above}/{name}") in self._slow:
                return None
            try:
                os.lstat(at)
            except (OSError, ValueError):
                missing[path] = None
        return list(missing)

    def _knows_mounts(self) -> bool:
        if self._news is not None:
            known, self._is_known = self._is_known, False  # the news come once: whoever is interrupted here looks again
            if self._news.poll(0) or not known:
                self._look()
            else:
                self._is_known = True
        return self._is_known

    def _followed(self, path: str, done: str = "") -> str | None:
        """`done`: the real path of the folder that the path starts from."""
        waiting, links, is_there = path.split("/")[::-1], 0, True
        while waiting:
            name = waiting.pop()
            if name in ("", "."):
                continue
            if name == "..":
                done, is_there = done.rpartition("/")[0], True
                continue
            at = f"{done}/{name}"
            if at in self._slow:  # asked before `lstat`: a network file system whose server is gone never answers it
                return None
            if is_there:
                try:
                    if stat.S_ISLNK(os.lstat(at).st_mode):
                        target, links = os.readlink(at), links + 1  # noqa: PTH115 - a hot path
                        if links > MAX_LINKS:
                            return None
                        done = "" if target[:1] == "/" else done
                        waiting += target.split("/")[::-1]
                        continue
                except (FileNotFoundError, NotADirectoryError):
                    if ".." not in waiting:  # nothing is in it, so nothing more can be found out
                        return "/".join([at, *(part for part in reversed(waiting) if part not in ("", "."))])
                    is_there = False
                except (OSError, ValueError):
                    is_there = False
            done = at
        return done or "/"


def _opened() -> int | None:
    try:
        return os.open(MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _slow_in(lines: str) -> Iterable[str]:
    """The mount points of other than local file systems (proc(5), mountinfo)."""
    for line in lines.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.partition(" ")[0]
        if kind not in _LOCAL and len(fields) > 4:  # noqa: PLR2004 - the fifth is the mount point
            yield _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4])
