"""The files of a recording: what its tools wrote there, and else what lies on the disk now."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Any

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.model.files import FileText, Unread
from toolguard_engine.server.file_reader import MAX_BYTES, FileReader

MAX_FILES = 2_000
_WRITES = program_catalogue.tools("writes_file")
_PATHS = ("path", "file_path", "filePath")
_REPLACED = (("oldText", "newText"), ("old_string", "new_string"), ("old_str", "new_str"))


class RecordedFiles(FileReader):
    def __init__(self) -> None:
        super().__init__()
        self._written: dict[str, FileText] = {}

    def read(self, path: str) -> FileText | Unread:
        return self._written.get(path) or super().read(path)

    def missing(self, paths: list[str]) -> list[str]:
        return super().missing([path for path in paths if path not in self._written])

    def ran(self, tool: str, params: Any, cwd: str) -> None:
        """A call has run. What a command writes is not known."""
        if tool_name(tool) not in _WRITES or not isinstance(params, dict):
            return
        named = next((params[name] for name in _PATHS if isinstance(params.get(name), str)), "")
        path = os.path.normpath(os.path.join(cwd or "/", os.path.expanduser(named)))  # noqa: PTH111, PTH118 - text only
        text = self._after(path, params) if named else None
        if text is not None and len(text) <= MAX_BYTES and (path in self._written or len(self._written) < MAX_FILES):
            digest = sha256(text.encode("utf-8", "replace")).hexdigest()
            self._written[path] = FileText(path, text, digest, (0, 0, len(text), len(self._written)))

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
        if pair is None or not all(isinstance(each, str) for each in pair) or pair[0] not in text:
            return None
        text = text.replace(*pair, 1)
    return text
