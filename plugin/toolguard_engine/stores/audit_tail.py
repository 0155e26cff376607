"""Reads the audit log as it grows, for whoever keeps what it says elsewhere.

A reader stores the number of the last line that it took, and which line the log began with. If the log begins with another
line, or no longer has the last one, it was replaced or cut, and is read from its start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec

from toolguard_engine.stores import disk
from toolguard_engine.stores.atomic import handle_of, opened
from toolguard_engine.stores.ports import AuditLogStore

STEP_BYTES = 32 * 1024
"""Read at once: about 70 lines, and more than the longest line that we write."""

MAX_SEQ = 2**63 - 1
"""SQLite's largest integer."""


class AuditLine(msgspec.Struct):
    """The part of an audit line that readers use."""

    seq: Annotated[int, msgspec.Meta(ge=0, le=MAX_SEQ)]
    id: str
    time: str
    event: str
    code: str = ""
    nonce: str = ""
    tool: str = ""
    agent: str = ""
    session: str = ""
    run: str = ""
    by: str = ""
    where: str = ""
    reason: str = ""
    why: str = ""
    shown: str = ""


_DECODER = msgspec.json.Decoder(AuditLine)


class Chunk(msgspec.Struct, frozen=True):
    """Some lines. `first`: which line the log begins with. `behind`: the parts after the one that was read."""

    data: bytes = b""
    first: str = ""
    behind: tuple[Path, ...] = ()


class AuditTail:
    """Call `read`, store what it returns, then call `passed`."""

    def __init__(self, log: AuditLogStore) -> None:
        self._log = log
        self._first = ""
        self._part = 0
        """Inode of the part that is read; 0: none."""
        self._offset = 0

    def read(self, position: Callable[[], tuple[int, str]]) -> Chunk:
        """The next lines. `position`: what was stored, asked only if this object does not know it. Raises `OSError`."""
        parts = self._log.files()
        if not parts:
            return Chunk()
        path, behind = self._whereabouts(position, parts)
        with handle_of(path) as handle:
            data = disk.read_at(handle, STEP_BYTES, self._offset)
        whole = data.rfind(b"\n") + 1 or (len(data) if len(data) == STEP_BYTES else 0)
        return Chunk(data[:whole], self._first, tuple(behind))

    def passed(self, chunk: Chunk) -> bool:
        """The chunk was stored. Whether there may be more right now."""
        if chunk.data:
            self._offset += len(chunk.data)
        elif chunk.behind:
            self._part, self._offset = _inode(chunk.behind[0]), 0
        return bool(chunk.data or chunk.behind)

    def to_end(self) -> tuple[int, str]:
        """Skips what is there: the position of the last line. Raises `OSError`."""
        parts = self._log.files()
        last = 0
        for path in parts[-1:]:
            with opened(path) as file:
                last = max((line.seq for line in lines_in(file.read())), default=0)
        return last, _first_line(parts[0]) if parts else ""

    def _whereabouts(self, position: Callable[[], tuple[int, str]], parts: list[Path]) -> tuple[Path, list[Path]]:
        """The part to read now, and the parts after it."""
        if (first := _first_line(parts[0])) != self._first:
            self._first = first
            if self._part not in map(_inode, parts[1:]):  # otherwise only the oldest part was removed
                self._part = 0
        for number, path in enumerate(parts):
            stat = disk.look(path)
            if stat.st_ino == self._part and stat.st_size >= self._offset:
                return path, parts[number + 1 :]
        last, taken_from = position()
        place = _find(parts, last) if last and taken_from == self._first else None
        number, self._offset = place or (0, 0)
        self._part = _inode(parts[number])
        return parts[number], parts[number + 1 :]


def lines_in(data: bytes) -> Iterator[AuditLine]:
    """Those that toolguard wrote."""
    for line in data.split(b"\n"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            yield _DECODER.decode(line)


def _find(parts: list[Path], seq: int) -> tuple[int, int] | None:
    """The part that has the line with this number, and where that line ends; the newest part first."""
    mark = b'{"seq":%d,' % seq
    for number in reversed(range(len(parts))):
        with opened(parts[number]) as file:
            while line := file.readline(STEP_BYTES):
                if line.startswith(mark) and line.endswith(b"\n"):
                    return number, file.tell()
    return None


def _first_line(path: Path) -> str:
    with opened(path) as file:
        return sha256(file.readline(STEP_BYTES)).hexdigest()


def _inode(path: Path) -> int:
    return disk.look(path).st_ino
