"""One thing that is wrong in a config, and where it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from toolguard_cli import json5_edit
from toolguard_cli.configtree import ConfigTree, Spot, Steps
from toolguard_cli.json5_edit.places import excerpt

Level = Literal["error", "warn", "info"]
LEVELS: tuple[Level, ...] = ("error", "warn", "info")


@dataclass(frozen=True)
class Finding:
    """`path` is dotted, from the top of the whole config, and empty where it is about all of it. `line` and `column` count
    from 1 and are 0 where nothing is written; `excerpt` is that line, and a caret below the place."""

    level: Level
    path: str
    message: str
    fix: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    excerpt: str = ""

    @property
    def where(self) -> str:
        return f"{self.file}, line {self.line}, column {self.column}" if self.line else self.file


def finding(tree: ConfigTree, steps: Steps, level: Level, message: str, fix: str = "") -> Finding:
    """At the value of this path, or at the innermost part around it that is written."""
    return at(nearest(tree, steps), level, name(steps), message, fix)


def at(spot: Spot, level: Level, path: str, message: str, fix: str = "") -> Finding:
    if not spot.file.exists:
        return Finding(level, path, message, fix, str(spot.file.path))
    line, column = json5_edit.locate(spot.file.text, spot.path)
    return Finding(level, path, message, fix, str(spot.file.path), line, column, excerpt(spot.file.text, line, column))


def nearest(tree: ConfigTree, steps: Steps) -> Spot:
    """Where the innermost part of this path is written."""
    part = tree.root
    for step in steps:
        inner = part.child(step)
        if inner is None:
            break
        part = inner
    return part.spots[-1]


def name(steps: Steps) -> str:
    return json5_edit.path_name(steps) if steps else ""
