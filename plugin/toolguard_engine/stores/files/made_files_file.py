"""The memory of the files that agents made, and of programs that may run files later, for the next engine.

One file has all of it as it was once; a second one, the journal, what has changed since, one line for each save. It begins
with the id of the first file: a journal of another one, as an engine of an earlier version leaves it behind, is not read.
When the journal has become a quarter as long as the file, the file is replaced: to do a change again takes as long as to
read many records.

Losing them makes the guard ask less about old files; it never lets a held call through.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from toolguard_engine.model import file_filling, file_list
from toolguard_engine.model.file_changes import FileChange, MadeFolders
from toolguard_engine.model.file_list import FileList
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.file_tree import FileTree
from toolguard_engine.model.living_programs import LivingProgram
from toolguard_engine.stores import atomic, disk
from toolguard_engine.stores.locked import Damaged, Newer, unusable
from toolguard_engine.stores.ports import SavedFiles
from toolguard_engine.stores.state_files import MADE_FILES as NAME
from toolguard_engine.stores.state_files import MADE_FILES_JOURNAL as JOURNAL

VERSION = 2
"""Until 1, which is not written down, the file had each record by its whole path."""
MAX_BYTES = 64 * 1024 * 1024
LEAST = 128 * 1024
"""Bytes of a journal for which the file is not replaced, however short it is."""


class _Stored(msgspec.Struct, omit_defaults=True):
    v: int = 1
    id: str = ""
    files: FileList = FileList()
    records: dict[str, FileRecord] = {}
    programs: list[LivingProgram] = []


class _Line(msgspec.Struct, omit_defaults=True):
    """`programs`: which of those before are still there, by their numbers, and in which order, with the new ones behind
    them; None if they are the same."""

    changes: list[FileChange] = []
    programs: list[int] | None = None
    new: list[LivingProgram] = []


class FileMemoryFile:
    """Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self.journal = self.path.with_name(JOURNAL)
        self._id = ""
        """Of the file that the journal belongs to; empty if everything has to be saved."""
        self._most = 0
        self._programs: list[LivingProgram] = []

    def load(self) -> SavedFiles:
        self._id = ""
        try:
            data = atomic.read_bounded(self.path, MAX_BYTES)
            stored = msgspec.json.decode(data, type=_Stored)
            tree = _tree(stored)
        except FileNotFoundError:
            return SavedFiles(FileTree(), [], [])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, file_list.NotAListError) as error:
            raise Damaged(f"{self.path} is damaged; it is replaced with the next change") from error
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error
        if tree is None:
            raise Newer(self.path)
        self._programs, changes = stored.programs, list[FileChange]([MadeFolders(stored.files.made)])
        for line in self._lines(stored.id, len(data)):
            changes += line.changes
            self._programs = _programs(self._programs, line)
        return SavedFiles(tree, list(self._programs), changes)

    def _lines(self, owner: str, size: int) -> Iterator[_Line]:
        """The journal's lines up to the first one that is damaged: an engine that was killed may have written half of it."""
        with suppress(OSError, ValueError):
            first, *lines = atomic.read_bounded(self.journal, MAX_BYTES).split(b"\n")
            if not owner or first.decode("ascii") != owner:
                return
            for line in lines[:-1]:
                try:
                    yield msgspec.json.decode(line, type=_Line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    return
            if not lines[-1]:
                self._id, self._most = owner, max(size // 4, LEAST)

    @property
    def wants_all(self) -> bool:
        """Whether the next thing to be done is to `save`, not to `append`."""
        return not self._id

    def save(self, files: FileList, programs: list[LivingProgram]) -> None:
        self._id, name = "", secrets.token_hex(16)
        data = msgspec.json.encode(_Stored(v=VERSION, id=name, files=files, programs=programs))
        try:
            atomic.make_folder(self.path.parent)
            atomic.replace(self.path, data, durable=False)
            atomic.replace(self.journal, name.encode() + b"\n", durable=False)
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error
        self._id, self._most, self._programs = name, max(len(data) // 4, LEAST), list(programs)

    def append(self, changes: Iterable[FileChange], programs: list[LivingProgram]) -> None:
        """What has changed since; nothing where the journal turns out to be another one's: then it `wants_all`."""
        owner, self._id = self._id, ""
        line = _line(list(changes), self._programs, programs)
        try:
            if not self._written(owner, msgspec.json.encode(line) + b"\n"):
                return
        except (OSError, ValueError) as error:
            raise unusable(self.journal, error) from error
        self._id, self._programs = owner, list(programs)

    def _written(self, owner: str, data: bytes) -> bool:
        """Whether the line is behind the others of this owner."""
        handle = disk.open_file(self.journal, os.O_RDWR | os.O_NONBLOCK)
        try:
            size = disk.status(handle).st_size
            if disk.read_at(handle, len(owner) + 1, 0) != owner.encode() + b"\n" or size > self._most:
                return False
            return disk.write_at(handle, data, size) == len(data)  # otherwise the disk is full
        finally:
            disk.close(handle)


def _tree(stored: _Stored) -> FileTree | None:
    """None if a newer version wrote it. Raises `NotAListError`."""
    if stored.v > VERSION:
        return None
    return file_list.filled(stored.files) if stored.v == VERSION else file_filling.filled(stored.records.items())


def _line(changes: list[FileChange], before: list[LivingProgram], now: list[LivingProgram]) -> _Line:
    if len(before) == len(now) and all(map(_is_same, before, now)):
        return _Line(changes)
    known = {id(program): at for at, program in enumerate(before)}
    new = [program for program in now if id(program) not in known]
    known |= {id(program): len(before) + at for at, program in enumerate(new)}
    return _Line(changes, [known[id(program)] for program in now], new)


def _is_same(one: LivingProgram, other: LivingProgram) -> bool:
    return one is other


def _programs(before: list[LivingProgram], line: _Line) -> list[LivingProgram]:
    known = [*before, *line.new]
    return before if line.programs is None else [known[at] for at in line.programs if 0 <= at < len(known)]
