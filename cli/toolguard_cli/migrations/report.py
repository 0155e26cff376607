"""What a migration did or would do, for users and for scripts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from toolguard_cli.hostconfig.config_tree import Steps
from toolguard_cli.hostconfig.json5_edit import path_name
from toolguard_cli.system.paths import PLUGIN_ID
from toolguard_engine.stores import audit_log
from toolguard_engine.wording import printable

MAX_SHOWN = 100
"""Limit of a value's characters."""


@dataclass(frozen=True)
class Moved:
    """A setting that moved. `source`: its old name; `target`: its path below toolguard's settings; `value`: as written."""

    source: str
    target: Steps
    value: Any

    @property
    def words(self) -> str:
        return f"{self.source} -> {PLUGIN_ID} {path_name(self.target)} = {shown(self.value)}"


@dataclass(frozen=True)
class Left:
    """A setting that was not migrated, and why."""

    source: str
    reason: str

    @property
    def words(self) -> str:
        return f"{self.source}: {self.reason}"


@dataclass
class MigrationReport:
    """`touched`: the plugins and blocks that were migrated. `changed`: other changes. `warnings`: what the user must act on.
    `notes`: what the user should know."""

    touched: list[str] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def origin(self, target: Steps) -> str:
        """The setting that was moved there in this run; empty if none was."""
        return next((moved.source for moved in self.moved if target[: len(moved.target)] == moved.target), "")


def shown(value: Any) -> str:
    return audit_log.plain(json.dumps(value, ensure_ascii=False), MAX_SHOWN)


def named(*words: str) -> str:
    return audit_log.plain(" ".join(words), 3 * MAX_SHOWN)


def safe_line(line: str) -> str:
    """Text of a file or a path on one line, without control characters except tabs."""
    return "\t".join(map(printable.plain, line.split("\t")))
