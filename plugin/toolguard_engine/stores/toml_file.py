"""A TOML file that users edit: its text, whether it has changed, and positions in it.

`tomllib` gives values without positions; `TomlPositions` finds the tables and keys of a text that `tomllib` has accepted.
Lines and columns count from 1; 0 means unknown.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from toolguard_engine import lazy_re
from toolguard_engine.stores import atomic, disk
from toolguard_engine.stores.locked import StoreError

Stamp = tuple[int, int, int]
MAX_BYTES = 2 * 1024 * 1024

_PIECE = lazy_re.compile(
    r'"""(?>(?:[^"\\]|\\.|"{1,2}(?!"))*)"{3,5}|\'\'\'(?>(?:[^\']|\'{1,2}(?!\'))*)\'{3,5}'
    r'|"(?>(?:[^"\\\n]|\\.)*)"|\'[^\'\n]*+\'|#[^\n]*+|[\[\]{}\n]',
    re.DOTALL,
)
_BLANK = lazy_re.compile(r"[\s]*+")
_NAME = r"(?:[A-Za-z0-9_-]++|\"[^\"\n]*+\"|'[^'\n]*+')"
_PATH = rf"{_NAME}(?>(?:[ \t]*+\.[ \t]*+{_NAME})*)"
_HEADER = lazy_re.compile(rf"(\[\[?)[ \t]*+({_PATH})[ \t]*+\]")
_KEY = lazy_re.compile(rf"({_PATH})[ \t]*+=[ \t]*+")
_STEP = lazy_re.compile(_NAME)
_PLAIN = {
    "Cannot overwrite a value": ("this key occurs twice in its table", "remove one of the two lines"),
    "Unclosed array": ("a list above this line has no closing ]", "close it with ]"),
    "Unterminated string": ("a string has no closing quote", "close it with a quote"),
    "Illegal character '\\n'": ("a string has no closing quote on this line", "close it with a quote"),
    "Expected '=' after a key": ("a name is not followed by =", 'write it like severity = "required"'),
    "Expected newline or end": ("more follows on the line", "write each key with its value on a line of its own"),
    "Invalid value": (
        "what follows the =, or is in the list, is not a value",
        'put text in quotes, like severity = "required"',
    ),
    "Invalid initial character": ("this is not the name of a key", 'write it like severity = "required"'),
    "Invalid statement": ("this is neither a [[table]] nor a key with its value", 'write it like severity = "required"'),
}
"""What Python says of a text, in words for whoever wrote it, and what to do."""
_AT = lazy_re.compile(r"(?<!\s)\s*\(at (?:line (\d+), column (\d+)|end of document)\)")


class InvalidTomlError(ValueError):
    """What is wrong with the file as a whole, where, and how to fix it."""

    def __init__(self, message: str, fix: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.fix = fix
        self.line = line
        self.column = column


class At(Struct, frozen=True):
    """A position in the file."""

    line: int = 0
    column: int = 0


class _Key(Struct, frozen=True):
    """`name`: the first part of the key. Offsets of the key, its value and the value's end."""

    name: str
    start: int
    value: int
    end: int


def stamp_of(path: Path) -> Stamp | None:
    """Changes whenever the file does; None if it does not exist. Raises `StoreError`."""
    try:
        stat = disk.look(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: NUL in the path
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def text_of(path: Path) -> str:
    """The file as text with its line endings; empty if it does not exist. Raises `InvalidTomlError`, `StoreError`."""
    try:
        with atomic.opened(path) as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise InvalidTomlError(f"it is larger than {MAX_BYTES} bytes", "is this really the policy of toolguard?")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidTomlError("it is not UTF-8 text", "save it as UTF-8", line) from error


def load(text: str) -> dict[str, Any]:
    """The text as values. Raises `InvalidTomlError`."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        match = _AT.search(str(error))
        line = int(match[1]) if match and match[1] else text.count("\n") + 1 if match else 0
        column = int(match[2]) if match and match[2] else 0
        formal = _AT.sub("", str(error))
        words, fix = next((known for start, known in _PLAIN.items() if formal.startswith(start)), (formal, "fix that line"))
        raise InvalidTomlError(f"it is not valid TOML: {words}", fix, line, column) from error


class TomlPositions:
    """Positions of the tables `[[name]]` of a text and of their keys."""

    def __init__(self, text: str, table: str) -> None:
        self._text = text
        self._headers: list[int] = []
        self._keys: list[list[_Key]] = []
        inside = under = False
        for start, end in _statements(text):
            header = _HEADER.match(text, start)
            if header:
                steps = _steps(header[2])
                inside = header[1] == "[[" and steps == [table]
                under = bool(self._headers) and len(steps) > 1 and steps[0] == table
                if inside:
                    self._headers.append(start)
                    self._keys.append([])
                elif under:
                    self._keys[-1].append(_Key(steps[1], start, start, end))
            elif (inside or under) and (key := _KEY.match(text, start)):
                name = _steps(key[1])[0]
                if inside:
                    self._keys[-1].append(_Key(name, start, key.end(), end))

    def table(self, number: int) -> At:
        """The header of the table with this index."""
        return self._at(self._headers[number]) if number < len(self._headers) else At()

    def key(self, number: int, name: str) -> At:
        """A key of that table; its header if the key is missing."""
        row = self._find(number, name)
        return self._at(row.start) if row else self.table(number)

    def value(self, number: int, name: str, part: str = "") -> At:
        """The value of that key, or the first occurrence of `part` in it."""
        key = self._find(number, name)
        if key is None:
            return self.table(number)
        inner = self._text.find(part, key.value, key.end) if part else -1
        return self._at(inner if inner >= 0 else key.value)

    def _find(self, number: int, name: str) -> _Key | None:
        keys = self._keys[number] if number < len(self._keys) else []
        return next((key for key in keys if key.name == name), None)

    def _at(self, offset: int) -> At:
        return At(self._text.count("\n", 0, offset) + 1, offset - self._text.rfind("\n", 0, offset))


def renamed(text: str, old: str, new: str) -> str:
    """The text with the headers of the tables `old`, and of what lies in them, under another name; all else stays."""
    parts: list[str] = []
    copied, at_top = 0, True
    for start, _ in _statements(text):
        header = _HEADER.match(text, start)
        at_top = at_top and header is None
        path = header.start(2) if header else start
        step = _STEP.match(text, path) if header or (at_top and _KEY.match(text, start)) else None
        if step is not None and step[0].strip("\"'") == old:
            parts += text[copied:path], new
            copied = step.end()
    return "".join([*parts, text[copied:]])


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each header and each key with its value, outside strings, lists and comments."""
    start, depth = _skip(text, 0), 0
    for piece in _PIECE.finditer(text):
        sign = piece[0]
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        elif sign == "\n" and depth <= 0:
            if start < piece.start():
                yield start, piece.start()
            start, depth = _skip(text, piece.end()), 0
    if start < len(text):
        yield start, len(text)


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _steps(path: str) -> list[str]:
    return [step.strip("\"'") for step in _STEP.findall(path)]
