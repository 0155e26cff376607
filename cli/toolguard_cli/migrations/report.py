"""What a migration did or would do, for a person and for a script."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from toolguard_cli.configtree import Steps
from toolguard_cli.json5_edit import path_name
from toolguard_cli.paths import PLUGIN_ID
from toolguard_engine import answers
from toolguard_engine.stores import audit

MAX_SHOWN = 100
"""Characters of a value."""


@dataclass(frozen=True)
class Moved:
    """A setting: where it was, as a person calls it; its path below our settings; its value as it is written."""

    source: str
    target: Steps
    value: Any

    @property
    def words(self) -> str:
        return f"{self.source} -> {PLUGIN_ID} {path_name(self.target)} = {shown(self.value)}"


@dataclass(frozen=True)
class Left:
    """A setting that was not taken over, and why."""

    source: str
    reason: str

    @property
    def words(self) -> str:
        return f"{self.source}: {self.reason}"


@dataclass
class Report:
    """`touched`: what there was something to do about. `changed`: what else becomes different. `warnings`: what a person
    has to look after; `notes`: what one has to know."""

    touched: list[str] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def origin(self, target: Steps) -> str:
        """Which setting was moved there in this run; empty where none was."""
        return next((each.source for each in self.moved if target[: len(each.target)] == each.target), "")


def shown(value: Any) -> str:
    """As JSON on one line: bounded, printable, without secrets."""
    return audit.plain(json.dumps(value, ensure_ascii=False), MAX_SHOWN)


def named(*words: str) -> str:
    """Names from a config, for a person."""
    return audit.plain(" ".join(words), 3 * MAX_SHOWN)


def printable(line: str) -> str:
    """What a file or a path says, in one line: nothing moves the cursor but tabs."""
    return "\t".join(map(answers.plain, line.split("\t")))
