"""Files as the guard sees them: their content when a call runs them, and which of them the agents made.

Deciding is pure, so the guard is handed a `FileSource`. The server gives it one that reads this machine's files, bounded in
size, number and time; without one every file is `Unread("absent")`. Paths are absolute and normalised.
"""

from __future__ import annotations

import fnmatch
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal, Protocol

import msgspec
from msgspec import structs

Origin = Literal["agent", "outside"]
"""Who wrote the content of a file: the model itself, or somebody whose text a tool call fetched or unpacked."""

WhyUnread = Literal["absent", "forbidden", "not-regular", "too-large", "too-many", "too-slow", "binary"]

MAX_RECORDS = 10_000
MAX_EXPECTED = 64
MAX_EXPECTED_TEXT = 65_536


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


class FileRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file as a tool call left it. `source`: the tool, or the host that the content came from; `session`: of the call;
    `digest`: empty where it is not known; `created`: it replaced no file of the person; `was`: the path that it was moved
    from; `link`: what a symbolic link leads to.
    """

    origin: Origin
    source: str = ""
    session: str = ""
    digest: str = ""
    created: bool = False
    was: str = ""
    link: str = ""


class ExpectedText(msgspec.Struct, frozen=True):
    """What a call that runs now writes into a file. `whole`: nothing else will be in it; `old`: what it replaces."""

    call: str
    text: str
    whole: bool
    old: str = ""


ANY = "*"
"""The name under which a folder has the record of files that were moved into it and are not known one by one."""

MAX_MOVED_INTO = 8


class FileMemory:
    """What tool calls wrote, copied, moved, linked, fetched or unpacked: the last `MAX_RECORDS` files of all sessions. The
    calls of one message are all judged before the first of them runs, so what they will write is `expected` meanwhile."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, FileRecord] = OrderedDict()
        self._expected: OrderedDict[str, ExpectedText] = OrderedDict()
        self._displaced = set[str]()
        """The paths whose content was moved there from a place where no record was."""
        self.changes = 0
        """Since the memory is there."""

    @property
    def records(self) -> dict[str, FileRecord]:
        """All of them, the latest last."""
        return dict(self._records)

    def restore(self, records: dict[str, FileRecord]) -> None:
        """What was known before; what is known now counts more."""
        self._records = OrderedDict({**records, **self._records})
        self._displaced = {path for path, record in self._records.items() if record.was}
        self._shrink()

    def expect(self, path: str, found: ExpectedText) -> None:
        before = self._expected.pop(path, None)
        if before is not None and not found.whole:
            text = f"{before.text}\n{found.text}"[-MAX_EXPECTED_TEXT:]
            found = ExpectedText(found.call, text, before.whole)
        self._expected[path] = found
        if len(self._expected) > MAX_EXPECTED:
            self._expected.popitem(last=False)

    def expected(self, path: str) -> ExpectedText | None:
        return self._expected.get(path) if self._expected else None

    def happened(self, call: str) -> None:
        """A call has run: what it wrote lies there now."""
        for path in [path for path, found in self._expected.items() if found.call == call]:
            del self._expected[path]

    def of(self, path: str) -> FileRecord | None:
        """The record of a file, or of the nearest folder above it that was made as a whole (unpacked, cloned)."""
        while path and path != "/" and self._records:
            if (found := self._records.get(path)) is not None:
                return found
            path = path.rpartition("/")[0]
        return None

    def was(self, path: str, *, itself: bool = False) -> str:
        """Where the content of a path was before a move, or lies behind a link. `itself`: not behind the path's own link."""
        above = path if self._records else ""
        while above and above != "/":
            found = self._records.get(above)
            leads_to = found and (found.was or ("" if itself and above == path else found.link))
            if leads_to:
                return leads_to + path[len(above) :]
            folder, _, name = above.rpartition("/")
            if found is None and (many := self._records.get(f"{folder}/{ANY}")) is not None:
                return f"{many.was.rpartition('/')[0]}/{name}{path[len(above) :]}"
            above = folder
        return path

    @property
    def has_displaced(self) -> bool:
        return bool(self._displaced)

    def moved_into(self, folder: str, is_meant: Callable[[str], bool] | None = None) -> list[str]:
        """Where content was that has been moved into a folder, at most `MAX_MOVED_INTO` paths. `is_meant`: only what was
        moved to paths of which this is true, and what is not known one by one."""
        inside = f"{folder}/"
        paths = (path for path in self._displaced if path.startswith(inside))
        if is_meant is not None:
            paths = (path for path in paths if path.endswith(f"/{ANY}") or is_meant(path))
        return list(islice((self._records[path].was for path in paths), MAX_MOVED_INTO))

    def exactly(self, path: str) -> FileRecord | None:
        """The record of this very file."""
        return self._records.get(path)

    @property
    def is_empty(self) -> bool:
        return not self._records

    def matching(self, pattern: str, limit: int) -> list[str]:
        """The last files that a pattern with `*`, `?` and `[]` means; only `**` reaches into folders."""
        if not self._records:
            return []
        depth = -1 if "**" in pattern else pattern.count("/")
        named = re.compile(fnmatch.translate(pattern)).match
        known = (path for path in reversed(self._records) if not path.endswith(f"/{ANY}"))
        found = (path for path in known if depth in (-1, path.count("/")) and named(path))
        return list(islice(found, limit))

    def below_named(self, folder: str, pattern: re.Pattern[str], limit: int) -> list[str]:
        """The last files in a folder whose paths from there on fit a pattern."""
        inside, skip = f"{folder}/", len(folder) + 1
        known = (path for path in reversed(self._records) if path.startswith(inside) and not path.endswith(f"/{ANY}"))
        return list(islice((path for path in known if pattern.match(path, skip)), limit))

    def has_below(self, folder: str) -> bool:
        """Whether there is a record of something in a folder."""
        inside = folder + "/"
        return is_movable(folder) and any(path.startswith(inside) for path in self._records)

    def below(self, folders: set[str]) -> list[str]:
        """The files in these folders of which there is a record, without those that are not known one by one."""
        known = (path for path in self._records if not path.endswith(f"/{ANY}"))
        return [path for path in known if any(above in folders for above in _above(path))]

    def wrote(self, path: str, record: FileRecord) -> None:
        self.changes += 1
        self._records[path] = record
        self._records.move_to_end(path)
        (self._displaced.add if record.was else self._displaced.discard)(path)
        self._shrink()

    def moved(self, source: str, target: str) -> None:
        """Also for a folder with what is in it. A source that cannot be moved, or is not known, changes nothing. What is
        known of the source is kept until it is `removed`: the move may fail."""
        if not is_movable(source):
            return
        inside = source + "/"
        for path in [path for path in self._records if path == source or path.startswith(inside)]:
            record = self._records[path]
            self.wrote(path, structs.replace(record, created=False))
            self.wrote(target + path[len(source) :], record)

    def moved_matching(self, pattern: str, folder: str) -> list[str]:
        """The same for all that a pattern with `*`, `?` and `[]` means, as a shell does: a hidden name only if the pattern
        says so. What else the pattern means is known by its old folder only. Returns the sources that are known."""
        depth = pattern.count("/") + 1
        named = re.compile(fnmatch.translate(pattern)).match
        shows_hidden, found = pattern.rpartition("/")[2].startswith("."), list[str]()
        for head in dict.fromkeys("/".join(path.split("/")[:depth]) for path in self._records):
            name = head.rpartition("/")[2]
            if head.count("/") + 1 == depth and named(head) and (shows_hidden or name[:1] != "."):
                self.moved(head, f"{folder}/{name}")
                found.append(head)
        self.wrote(f"{folder}/{ANY}", FileRecord("agent", "mv", was=pattern))
        return found

    def removed(self, paths: set[str]) -> None:
        """Also what is in them."""
        self.changes += 1
        for known in [known for known in self._records if known in paths or any(above in paths for above in _above(known))]:
            self._drop(known)

    def _drop(self, path: str) -> FileRecord:
        self._displaced.discard(path)
        return self._records.pop(path)

    def _shrink(self) -> None:
        while len(self._records) > MAX_RECORDS:
            self._displaced.discard(self._records.popitem(last=False)[0])


def is_movable(path: str) -> bool:
    """Whether a path names something that can be moved: it is known, absolute, and not the root."""
    return path.startswith("/") and path != "/"


def _above(path: str) -> Iterator[str]:
    while (path := path.rpartition("/")[0]) not in ("", "/"):
        yield path
