"""Files as the guard sees them: their content when a call runs them.

Deciding is pure, so the guard is handed a `FileSource`. The server gives it one that reads this machine's files, bounded in
size, number and time; without one every file is `Unread("absent")`. Paths are absolute and normalised.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

WhyUnread = Literal["absent", "forbidden", "not-regular", "too-large", "too-many", "too-slow", "binary"]


class FileText(msgspec.Struct, frozen=True):
    """A regular file. `path`: with all links resolved; `digest`: SHA-256 of its bytes; `identity`: device, inode, size and
    time of the last change, to notice that it was exchanged after it was judged."""

    path: str
    text: str
    digest: str
    identity: tuple[int, int, int, int]


class Unread(msgspec.Struct, frozen=True):
    """A file whose content is not known."""

    reason: WhyUnread


class FileSource(Protocol):
    def read(self, path: str) -> FileText | Unread: ...

    def resolve(self, path: str) -> str:
        """The path with its symbolic links followed as far as they exist; the path itself if that takes too long."""

    def is_unchanged(self, path: str) -> bool:
        """Whether Git has no change of this file to lose."""


class NoFiles:
    """No file can be read."""

    def read(self, path: str) -> FileText | Unread:  # noqa: ARG002
        return Unread("absent")

    def resolve(self, path: str) -> str:
        return path

    def is_unchanged(self, path: str) -> bool:  # noqa: ARG002
        return False
