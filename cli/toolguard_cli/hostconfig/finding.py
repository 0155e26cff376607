"""A problem in a config, and where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.hostconfig.config_tree import ConfigTree, Spot, Steps
from toolguard_cli.hostconfig.json5_edit.key_places import excerpt

Level = Literal["error", "warn", "info"]
LEVELS: tuple[Level, ...] = ("error", "warn", "info")


@dataclass(frozen=True)
class ConfigFinding:
    """`path`: dotted, from the top of the config; empty for the whole config. `line`, `column`: from 1, or 0 if there is no
    place. `excerpt`: that line with a caret below the column."""

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


def finding(tree: ConfigTree, steps: Steps, level: Level, message: str, fix: str = "") -> ConfigFinding:
    """A finding at the value of this path, or at the innermost existing part around it."""
    return report(nearest(tree, steps), level, name(steps), message, fix)


def report(spot: Spot, level: Level, path: str, message: str, fix: str = "") -> ConfigFinding:
    if not spot.file.exists:
        return ConfigFinding(level, path, message, fix, str(spot.file.path))
    line, column = json5_edit.locate(spot.file.text, spot.path)
    return ConfigFinding(level, path, message, fix, str(spot.file.path), line, column, excerpt(spot.file.text, line, column))


def nearest(tree: ConfigTree, steps: Steps) -> Spot:
    part = tree.root
    for step in steps:
        inner = part.child(step)
        if inner is None:
            break
        part = inner
    return part.spots[-1]


def name(steps: Steps) -> str:
    return json5_edit.path_name(steps) if steps else ""
