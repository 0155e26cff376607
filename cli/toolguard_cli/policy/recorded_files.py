"""The files of a recording: what its calls wrote, made and deleted there, and else what lies on the disk now."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.made_files import MadeFile
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.model.files import FileText, Unread
from toolguard_engine.server.file_reader import MAX_BYTES, FileReader

MAX_FILES = 2_000
MAX_NAMES = 50_000
_NAME = lazy_re.compile(r"[\w.@+-]{2,120}")
_WRITES = program_catalogue.tools("writes_file")
_PATHS = ("path", "file_path", "filePath")
_REPLACED = (("oldText", "newText"), ("old_string", "new_string"), ("old_str", "new_str"))


class RecordedFiles(FileReader):
    def __init__(self) -> None:
        super().__init__()
        self._written: dict[str, FileText] = {}
        self._made: dict[str, bool] = {}
        """What calls have made, and whether it is there still."""

        self._named: set[str] = set()
        """Names that results have shown. What has such a name may have been there already."""

    def read(self, path: str) -> FileText | Unread:
        return self._written.get(path) or super().read(path)

    def missing(self, paths: list[str]) -> list[str]:
        asked = [path for path in paths if path not in self._written and path not in self._made]
        gone = [path for path in paths if self._made.get(path) is False]
        return gone + [path for path in super().missing(asked) if os.path.basename(path) not in self._named]  # noqa: PTH119

    def shown(self, text: str) -> None:
        """What a call has printed."""
        if len(self._named) < MAX_NAMES:
            self._named.update(_NAME.findall(text))

    def ran(self, tool: str, params: Any, cwd: str, changes: Iterable[MadeFile] = (), folders: Iterable[str] = ()) -> None:
        """A call has run, with these changes of files. The text that a command writes is not known."""
        for change in (*(MadeFile("wrote", folder) for folder in folders), *changes):
            self._happened(change)
        if tool_name(tool) not in _WRITES or not isinstance(params, dict):
            return
        named = next((params[name] for name in _PATHS if isinstance(params.get(name), str)), "")
        path = os.path.normpath(os.path.join(cwd or "/", os.path.expanduser(named)))  # noqa: PTH111, PTH118 - text only
        text = self._after(path, params) if named else None
        if text is not None and len(text) <= MAX_BYTES and (path in self._written or len(self._written) < MAX_FILES):
            digest = sha256(text.encode("utf-8", "replace")).hexdigest()
            self._written[path] = FileText(path, text, digest, (0, 0, len(text), len(self._written)))

    def _happened(self, change: MadeFile) -> None:
        if change.kind == "removed" and change.many:
            return  # which files of the folder these are is not recorded
        leaves = change.path if change.kind == "removed" else change.source if change.kind == "moved" else ""
        for path in [file for file in self._made if leaves and (file == leaves or file.startswith(f"{leaves}/"))]:
            self._made[path] = False
        if leaves:
            self._written.pop(leaves, None)
            if leaves in self._made or len(self._made) < MAX_FILES:
                self._made[leaves] = False
        if change.kind != "removed" and (change.path in self._made or len(self._made) < MAX_FILES):
            self._made[change.path] = True

    def _after(self, path: str, params: dict[str, Any]) -> str | None:
        """What the file contains then; None where that cannot be worked out."""
        if isinstance(params.get("content"), str):
            return str(params["content"])
        before = self.read(path)
        if isinstance(before, Unread):
            return None
        edits = params.get("edits")
        return _edited(before.text, edits if isinstance(edits, list) else [params])


def _edited(text: str, edits: list[Any]) -> str | None:
    for edit in edits:
        given = edit if isinstance(edit, dict) else {}
        pair = next(((given[old], given[new]) for old, new in _REPLACED if old in given and new in given), None)
        if pair is None or not all(isinstance(piece, str) for piece in pair) or pair[0] not in text:
            return None
        text = text.replace(*pair, 1)
    return text
