"""Changes to a config before they are written: each in the file that owns the value, shown as a diff, written together."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from toolguard_cli.hostconfig import config_file, config_tree, json5_edit
from toolguard_cli.hostconfig.config_file import ConfigFile
from toolguard_cli.hostconfig.config_tree import ConfigTree, Steps
from toolguard_cli.system.errors import UserError

LEFT_OUT = '"..."'


@dataclass(frozen=True)
class FileChange:
    """One file that would be written: as it was read, and its new text."""

    file: ConfigFile
    text: str

    @property
    def data(self) -> bytes:
        return self.text.encode()


class Draft:
    """`tree`: the config with all changes so far. `before`: the config as read."""

    def __init__(self, tree: ConfigTree) -> None:
        self.before = tree
        self.tree = tree

    def set(self, steps: Steps, value: Any) -> None:
        """Raises `UserError` if the path leads through a value of another type, or no single file owns it."""
        spot = self.tree.owner(steps)
        self._put(spot.file, json5_edit.set_value(spot.file.text, spot.path, value))

    def delete(self, steps: Steps) -> None:
        """Does nothing if there is no value at this path."""
        if self.tree.part(steps) is not None:
            spot = self.tree.owner(steps)
            self._put(spot.file, json5_edit.delete(spot.file.text, spot.path))

    def unset(self, steps: Steps, keep: int) -> None:
        """Deletes the value, and the objects around it that hold nothing then, except the first `keep` of the path."""
        self.delete(steps)
        for depth in range(len(steps) - 1, keep, -1):
            spot = self.tree.spot(steps[:depth])
            if spot is None or not spot.path or not json5_edit.is_blank(spot.file.text, spot.path):
                break
            self.delete(steps[:depth])

    def append(self, steps: Steps, value: Any) -> None:
        """Adds a value to the list at this path, creating it if it is missing, unless the list has the value."""
        spot = self.tree.owner(steps)
        self._put(spot.file, json5_edit.append_unique(spot.file.text, spot.path, value))

    def remove(self, steps: Steps, value: Any) -> None:
        """Removes a value from the list at this path."""
        if self.tree.part(steps) is not None:
            spot = self.tree.owner(steps)
            self._put(spot.file, json5_edit.remove_element(spot.file.text, spot.path, value))

    def move(self, source: Steps, target: Steps) -> None:
        """Moves an item with its comments, even into another file. Raises `UserError` if `target` exists."""
        spot = self.tree.owner(source)
        text, clip = json5_edit.cut(spot.file.text, spot.path)
        self._put(spot.file, text)
        goal = self.tree.owner(target)
        self._put(goal.file, json5_edit.paste(goal.file.text, goal.path, clip))

    def _put(self, file: ConfigFile, text: str) -> None:
        if text == file.text:
            return
        files = {source.path: source for source in self.tree.files} | {file.path: file.edited(text)}
        self.tree = config_tree.read(self.tree.path, files)

    def changes(self) -> list[FileChange]:
        before = {file.path: file for file in self.before.files}
        return [FileChange(before[file.path], file.text) for file in self.tree.files if before[file.path].text != file.text]

    def diff(self) -> Iterator[str]:
        """The changed lines, like `diff -u0`, without lines of which only the comma changed, and without unchanged strings,
        which may be secrets."""
        for change in self.changes():
            name = str(change.file.path)
            old, new = change.file.text.splitlines(), change.text.splitlines()
            lines = list(difflib.unified_diff(old, new, name, name, n=0, lineterm=""))
            yield from lines[:2]
            for _, hunk in groupby(lines[2:], key=lambda line: line.startswith("@@")):
                yield from _without_kept_texts(_without_commas(list(hunk)))

    def write(self, *, again: bool = False) -> list[Path]:
        """Writes all changed files, or none; returns the backups. `again`: see `config_file.write`. Raises `UserError`."""
        tried: list[FileChange] = []
        backups: list[Path] = []
        try:
            for change in self.changes():
                tried.append(change)
                backup = config_file.write(change.file, change.data, again=again)
                backups += [backup] if backup else []
        except UserError:
            for change in tried:  # the last one may have been written as well
                config_file.restore(change.file, change.data, again=again)
            raise
        return backups


_TEXT = re.compile(r"""("(?>(?:[^"\\]|\\.)*)"|'(?>(?:[^'\\]|\\.)*)')(\s*+:)?""")


def _without_commas(hunk: list[str]) -> list[str]:
    """Leave out lines that only got or lost the comma at their end, because an item after them was added or removed."""
    pairs = {(old, new) for old in hunk if old[0] == "-" for new in hunk if new[0] == "+"}
    same = {line for old, new in pairs if old[1:].rstrip(",") == new[1:].rstrip(",") for line in (old, new)}
    return [line for line in hunk if line not in same]


def _without_kept_texts(hunk: list[str]) -> list[str]:
    sides = [
        {match[1] for line in hunk if line[0] == sign for match in _TEXT.finditer(line) if not match[2]} for sign in "-+"
    ]
    kept = sides[0] & sides[1]
    return [_TEXT.sub(lambda match: LEFT_OUT if not match[2] and match[1] in kept else match[0], line) for line in hunk]
