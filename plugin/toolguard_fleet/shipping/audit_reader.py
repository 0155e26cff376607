"""Reads the parts of an audit log in order, as the shipper needs them. Only reads; the log belongs to the engine.

What is read was synced to the disk before: the database must never know a line that the machine could still lose in a power
failure, because the line that is written in its place would look like a fork.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from toolguard_engine.stores import open as stores
from toolguard_engine.stores import system_calls
from toolguard_engine.stores.atomic import opened
from toolguard_fleet.shipping.chain_line import FIRST, MAX_BYTES, ChainLine, parsed

PIECE = 1024 * 1024
"""Bytes read as one line at most; what is longer counts as broken."""


@dataclass(frozen=True)
class Position:
    """The last line that the database has of a chain: its number and hash."""

    chain: str
    seq: int
    hash: str


@dataclass(frozen=True)
class Gap:
    """Lines up to `last`, which has this hash, are not in the log. `reason`: see `fleet.audit_gap`."""

    last: int
    hash: str
    reason: str


@dataclass(frozen=True)
class Batch:
    """What follows a position: lines, or a gap, or nothing."""

    lines: tuple[ChainLine, ...] = ()
    gap: Gap | None = None


class AuditReader:
    """The log of one state directory. Not for use by several threads at once. Everything raises `OSError`."""

    def __init__(self, state_dir: Path) -> None:
        self._log = stores.audit_log(state_dir)
        self._inode = 0
        self._offset = 0
        self._seq = -1
        """Where the line after this one begins: a part, by its inode, and the offset in it. -1: unknown."""

    def first(self) -> ChainLine | None:
        return next(self._lines(), None)

    def last(self) -> ChainLine | None:
        """None also if the end of the log is broken for longer than any line."""
        for path in reversed(self._log.files()):
            with suppress(FileNotFoundError), opened(path) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 2 * MAX_BYTES))
                for data in reversed(file.readlines()):
                    if line := parsed(data):
                        return line
        return None

    def read_line(self, seq: int) -> ChainLine | None:
        """The line with this number, if the log has it; the newest one where there are several."""
        for path in reversed(self._log.files()):
            mark, line_found = b'{"seq":%d,' % seq, None
            for _, line in _whole_lines(path, 0):
                if line.startswith(mark):
                    line_found = parsed(line) or line_found
            if line_found:
                return line_found
        return None

    def until(self, seq: int, rows: int, size: int) -> list[ChainLine]:
        """Returns at most this many lines and bytes, each linked to the next, of which the last has this number; empty if
        the log does not have it."""
        lines: deque[ChainLine] = deque()
        for line in self._lines():
            if line.seq > seq:
                break
            if lines and line.prev != lines[-1].hash:
                lines.clear()
            lines.append(line)
            size -= len(line.data)
            while len(lines) > 1 and (len(lines) > rows or size < 0):
                size += len(lines.popleft().data)
        return list(lines) if lines and lines[-1].seq == seq else []

    def after(self, position: Position, rows: int, size: int) -> Batch:
        """Returns at most this many lines and bytes (one line at least) after the position. A gap only if the log was not
        renamed or replaced meanwhile: otherwise nothing, and the next call reads again."""
        parts = self.parts()
        batch = self._read(position, rows, size, [path for path, _ in parts])
        if batch.gap and self.parts() != parts:
            return Batch()
        return batch

    def parts(self) -> list[tuple[Path, int]]:
        """The parts with their inodes, the oldest first. While the log is rotated, one may be missing."""
        return [(path, path.stat().st_ino) for path in self._log.files()]

    def _read(self, position: Position, rows: int, size: int, parts: list[Path]) -> Batch:
        walk = _Walk(position, rows, size)
        for path in self._from(position, parts):
            inode, offset = path.stat().st_ino, 0
            if (inode, position.seq) == (self._inode, self._seq):
                offset = self._offset
            for end, line in _whole_lines(path, offset):
                goes_on = walk.takes(line, is_first=path == parts[0] and not offset)
                if walk.was_passed:
                    self._inode, self._offset, self._seq = inode, end, walk.seq
                if not goes_on:
                    return walk.batch()
        return walk.batch()

    def _from(self, position: Position, parts: list[Path]) -> list[Path]:
        """The parts that may have lines after the position: from the last one that begins at or before it."""
        for number in reversed(range(len(parts))):
            if self._seq == position.seq and parts[number].stat().st_ino == self._inode:
                return parts[number:]
            begins = next((line for _, data in _whole_lines(parts[number], 0) if (line := parsed(data))), None)
            if begins and begins.seq <= position.seq:
                return parts[number:]
        return parts

    def _lines(self) -> Iterator[ChainLine]:
        for path in self._log.files():
            for _, data in _whole_lines(path, 0):
                if line := parsed(data):
                    yield line


class _Walk:
    """Takes the lines of a log one by one and keeps those that follow a position."""

    def __init__(self, position: Position, rows: int, size: int) -> None:
        self.seq, self._hash = position.seq, position.hash
        self._rows, self._size = rows, size
        self._lines: list[ChainLine] = []
        self._gap: Gap | None = None
        self._broken = self._is_after = False
        self.was_passed = False
        """Whether the last line is the one that the next one follows."""

    def takes(self, data: bytes, *, is_first: bool) -> bool:
        """Whether the walk goes on after this line."""
        self.was_passed = False
        line = parsed(data)
        if line is None:
            self._broken = True
            return True
        if line.seq <= self.seq:
            self._broken, self._is_after, self.was_passed = False, True, line.seq == self.seq
            return True
        if line.seq > self.seq + 1:
            reason = "changed" if self._broken else "removed" if is_first and not self._is_after else "missing"
            return self._stop(Gap(line.seq - 1, line.prev, reason))
        if len(data) > MAX_BYTES:
            return self._stop(Gap(line.seq, line.hash, "too-large"))
        return self._keep(line)

    def _keep(self, line: ChainLine) -> bool:
        self._size -= len(line.data)
        is_linked = line.prev == self._hash
        if self._lines and (len(self._lines) >= self._rows or self._size < 0 or not is_linked):
            return False
        self._lines.append(line)
        self.seq, self._hash = line.seq, line.hash
        self._broken, self._is_after, self.was_passed = False, True, True
        return is_linked  # a line that follows another one is offered alone: the database has the other version

    def _stop(self, gap: Gap) -> bool:
        self._gap = None if self._lines else gap
        return False

    def batch(self) -> Batch:
        return Batch(tuple(self._lines), self._gap)


def is_beginning(line: ChainLine) -> bool:
    """Whether nothing was ever before this line."""
    return line.seq == 1 and line.prev == FIRST


def _whole_lines(path: Path, offset: int) -> Iterator[tuple[int, bytes]]:
    """The lines from an offset on, each with the offset after it. The file is synced first."""
    with suppress(FileNotFoundError), opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size <= offset:
            return
        system_calls.sync_content(file.fileno())
        file.seek(offset)
        yield from _until(file, offset, size)


def _until(file: IO[bytes], offset: int, size: int) -> Iterator[tuple[int, bytes]]:
    while offset < size and (line := file.readline(min(PIECE, size - offset))):
        if not line.endswith(b"\n") and len(line) < PIECE:
            return  # half a line at the end: it is being written, or was left by a killed process
        offset += len(line)
        yield offset, line
