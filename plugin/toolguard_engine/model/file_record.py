"""What is known of one file that a tool call made."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import structs

Origin = Literal["agent", "outside"]
"""Who wrote the content of a file: the model itself, or somebody whose text a tool call fetched or unpacked."""

MAX_SHARED = 512


class FileRecord(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
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


class SharedRecords:
    """Equal records are one object: most files of a session have the same."""

    def __init__(self) -> None:
        self._known: dict[FileRecord, FileRecord] = {}
        self._doubted: dict[int, tuple[FileRecord, FileRecord]] = {}

    def shared(self, record: FileRecord) -> FileRecord:
        if record.was or record.link or record.digest:
            return record
        if len(self._known) >= MAX_SHARED:
            self._known.clear()
        return self._known.setdefault(record, record)

    def doubted(self, record: FileRecord) -> FileRecord:
        """The same of a file that may have been replaced by one of the person."""
        if not record.created:
            return record
        pair = self._doubted.get(id(record))
        if pair is None or pair[0] is not record:
            if len(self._doubted) >= MAX_SHARED:
                self._doubted.clear()
            pair = self._doubted[id(record)] = record, self.shared(structs.replace(record, created=False))
        return pair[1]
