"""Changes to a config before they are written: made in the file that owns each value, shown as a diff, written together."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from toolguard_cli import configfile, configtree, json5_edit
from toolguard_cli.configfile import ConfigFile
from toolguard_cli.configtree import ConfigTree, Steps
from toolguard_cli.errors import UserError

LEFT_OUT = '"..."'


@dataclass(frozen=True)
class Change:
    """One file that would be written: as it was read, and its new text."""

    file: ConfigFile
    text: str

    @property
    def data(self) -> bytes:
        return self.text.encode()


class Draft:
    """`tree` is the config with all changes so far; `before` the one that was read."""

    def __init__(self, tree: ConfigTree) -> None:
        self.before = tree
        self.tree = tree

    def set(self, steps: Steps, value: Any) -> None:
        """Raises `UserError` where the path runs into something else, or no single file owns it."""
        spot = self.tree.owner(steps)
        self._put(spot.file, json5_edit.set_value(spot.file.text, spot.path, value))

    def delete(self, steps: Steps) -> None:
        """Nothing happens where nothing is."""
        if self.tree.part(steps) is not None:
            spot = self.tree.owner(steps)
            self._put(spot.file, json5_edit.delete(spot.file.text, spot.path))

    def append(self, steps: Steps, value: Any) -> None:
        """Into the list at this path, which is made if it is missing; nothing happens where the value is in it."""
        spot = self.tree.owner(steps)
        self._put(spot.file, json5_edit.append_unique(spot.file.text, spot.path, value))

    def remove(self, steps: Steps, value: Any) -> None:
        """Out of the list at this path."""
        if self.tree.part(steps) is not None:
            spot = self.tree.owner(steps)
            self._put(spot.file, json5_edit.remove_element(spot.file.text, spot.path, value))

    def move(self, source: Steps, target: Steps) -> None:
        """With the comments of the item, also into another file. Raises `UserError` where something is at `target`."""
        spot = self.tree.owner(source)
        text, clip = json5_edit.cut(spot.file.text, spot.path)
        self._put(spot.file, text)
        goal = self.tree.owner(target)
        self._put(goal.file, json5_edit.paste(goal.file.text, goal.path, clip))

    def _put(self, file: ConfigFile, text: str) -> None:
        if text == file.text:
            return
        files = {each.path: each for each in self.tree.files} | {file.path: file.edited(text)}
        self.tree = configtree.read(self.tree.path, files)

    def changes(self) -> list[Change]:
        before = {file.path: file for file in self.before.files}
        return [Change(before[file.path], file.text) for file in self.tree.files if before[file.path].text != file.text]

    def diff(self) -> Iterator[str]:
        """The changed lines, as `diff -u0` shows them, without texts that did not change: they may be secrets."""
        for change in self.changes():
            name = str(change.file.path)
            old, new = change.file.text.splitlines(), change.text.splitlines()
            lines = list(difflib.unified_diff(old, new, name, name, n=0, lineterm=""))
            yield from lines[:2]
            for _, hunk in groupby(lines[2:], key=lambda line: line.startswith("@@")):
                yield from _without_kept_texts(list(hunk))

    def write(self, *, again: bool = False) -> list[Path]:
        """Writes all changed files, or none; the backups. Raises `UserError`. `again`: as in `configfile.write`."""
        written: list[Change] = []
        backups: list[Path] = []
        try:
            for change in self.changes():
                backup = configfile.write(change.file, change.data, again=again)
                written.append(change)
                backups += [backup] if backup else []
        except UserError:
            for change in written:
                configfile.restore(change.file, change.data)
            raise
        return backups


_TEXT = re.compile(r"""("(?>(?:[^"\\]|\\.)*)"|'(?>(?:[^'\\]|\\.)*)')(\s*+:)?""")


def _without_kept_texts(hunk: list[str]) -> list[str]:
    sides = [
        {found[1] for line in hunk if line[0] == sign for found in _TEXT.finditer(line) if not found[2]} for sign in "-+"
    ]
    kept = sides[0] & sides[1]
    return [_TEXT.sub(lambda found: LEFT_OUT if not found[2] and found[1] in kept else found[0], line) for line in hunk]
