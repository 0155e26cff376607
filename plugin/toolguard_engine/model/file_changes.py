"""What was done to the memory of files (`model.file_memory`), as it is written down for the engine after this one."""

from __future__ import annotations

import msgspec

from toolguard_engine.model.file_record import FileRecord


class WroteFile(msgspec.Struct, frozen=True, tag="wrote", tag_field="change"):
    path: str
    record: FileRecord


class MovedFile(msgspec.Struct, frozen=True, tag="moved", tag_field="change"):
    source: str
    target: str


class MovedFiles(msgspec.Struct, frozen=True, tag="moved-matching", tag_field="change"):
    pattern: str
    folder: str


class RemovedFiles(msgspec.Struct, frozen=True, tag="removed", tag_field="change"):
    paths: list[str]


class DoubtedFile(msgspec.Struct, frozen=True, tag="doubted", tag_field="change"):
    path: str


class MadeFolders(msgspec.Struct, frozen=True, tag="folders", tag_field="change"):
    """All folders that are an agent's by then, each with the session in which it made them."""

    folders: dict[str, str]


FileChange = WroteFile | MovedFile | MovedFiles | RemovedFiles | DoubtedFile | MadeFolders
