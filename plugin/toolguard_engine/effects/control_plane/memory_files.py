"""The files of a script that is followed in memory: what it reads, writes and moves, without opening any."""

from __future__ import annotations

from collections.abc import Callable
from posixpath import basename
from typing import Any

MAX_WRITTEN = 262_144
"""Characters of a file."""

_READING, _WRITING = ("r", "rt"), ("w", "wt")


class Unclear(Exception):  # noqa: N818 - what it does is not known
    """Raised where what the script does is not known."""


class HandledPath:
    """A path that a script has."""

    def __init__(self, path: str) -> None:
        self.path = path


class HandledFile:
    """A file that a script has opened. `at`: 0 before it has read anything, below that once it is closed."""

    def __init__(self, path: str, *, writes: bool) -> None:
        self.path, self.writes, self.at = path, writes, 0


def text_of(value: Any) -> str:
    """A path as a text."""
    if isinstance(value, HandledPath):
        return value.path
    if not isinstance(value, str):
        raise Unclear
    return value


class MemoryFiles:
    """`resolve`: the whole path of one; `read`: the text of a file as it is before, None if it is not known. `written`: the
    texts of the files that were written, by their whole paths."""

    def __init__(self, resolve: Callable[[str], str], read: Callable[[str], str | None]) -> None:
        self._resolve, self._read = resolve, read
        self.written: dict[str, str] = {}
        self._open: list[HandledFile] = []
        self._gone: set[str] = set()

    def opened(self, path: Any, mode: Any = "r") -> HandledFile:
        whole = self._whole(text_of(path))
        if mode not in (*_READING, *_WRITING):
            raise Unclear
        file = HandledFile(whole, writes=mode in _WRITING)
        if file.writes:
            if any(other.path == whole for other in self._open):
                raise Unclear
            self.written[whole] = ""
            self._gone.discard(whole)
            self._open.append(file)
        return file

    def close(self, file: HandledFile) -> None:
        if file in self._open:
            self._open.remove(file)
        file.at = -1

    def append(self, file: HandledFile, text: Any) -> None:
        if not file.writes or file.at < 0 or not isinstance(text, str):
            raise Unclear
        if len(self.written[file.path]) + len(text) > MAX_WRITTEN:
            raise Unclear
        self.written[file.path] += text

    def rest(self, file: HandledFile) -> str:
        if file.writes or file.at:
            raise Unclear
        file.at = 1
        text = self.content(file.path)
        if text is None:
            raise Unclear
        return text

    def content(self, path: str) -> str | None:
        """The text of a file. What has been written and not closed may not be in it yet."""
        whole = self._whole(path)
        if whole in self._gone or (any(file.path == whole for file in self._open) and self.written[whole]):
            raise Unclear
        text = self.written[whole] if whole in self.written else self._read(whole)
        if text is None:
            raise Unclear
        return text

    def moved(self, source: str, target: str, *, keeps: bool) -> None:
        text = self.content(source)
        whole = self._whole(target)
        if text is None or "." not in basename(whole) or any(file.path == whole for file in self._open):
            raise Unclear
        self.written[whole] = text
        if not keeps:
            self.written.pop(self._whole(source), None)
            self._gone.add(self._whole(source))

    def _whole(self, path: str) -> str:
        if path.startswith("~") or "\0" in path or "$" in path or not path:
            raise Unclear
        return self._resolve(path)
