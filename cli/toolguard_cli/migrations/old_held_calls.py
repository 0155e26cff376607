"""The state file of the old plugin that held calls. It is moved away, because it does not say which calls were meant.

It cannot stay, because toolguard's own store may have the same path (`storePath`).
"""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.migrations import old_folders
from toolguard_cli.migrations.old_plugins import Migration
from toolguard_cli.migrations.report import named as named_path
from toolguard_cli.setup.plugin_entry import ENTRIES
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import atomic

DEFAULT = ".ga-state.json"
MAX_BYTES = 20 * 1024 * 1024
KINDS = ("pending", "approved")


class OldCalls:
    """`waiting`: the number of calls in the file that are pending or approved, and not expired."""

    def __init__(self, path: Path, waiting: int) -> None:
        self.path = path
        self.waiting = waiting


def find(
    tree: ConfigTree, places: Places, migration: Migration, now: Callable[[], float] = time.time
) -> tuple[list[OldCalls], list[str]]:
    """The files, without duplicates, and the problems with other files that the settings name. `now`: in seconds."""
    folders = [places.state_dir, *old_folders.workspaces(tree, places)]
    named = [old_folders.expanded(name, folder) for name in _named(tree, migration) for folder in folders]
    usual = [folder / DEFAULT for folder in folders]
    kept: dict[Path, OldCalls] = {}
    problems = []
    for path in dict.fromkeys([*named, *usual]):
        state = _read(path)
        if state is not None and not _is_spared(path, tree, places):
            kept[path.resolve()] = OldCalls(path, _waiting(state, now() * 1000))
        elif path in named and _is_file(path) and not _is_ours(path):
            problems.append(
                f"{named_path(str(path))} stays: it holds no calls of {migration.ids[0]}; set storePath to another path"
            )
    return list(kept.values()), problems


def _is_spared(path: Path, tree: ConfigTree, places: Places) -> bool:
    """Whether it is a file of the config or of toolguard."""
    real = path.resolve()
    return real.is_relative_to(places.own.resolve()) or real in {file.path.resolve() for file in tree.files}


def _named(tree: ConfigTree, migration: Migration) -> Iterator[str]:
    """The paths in the plugin's settings."""
    for plugin in migration.ids:
        for steps in ((*ENTRIES, plugin, "config", "storePath"), (*ENTRIES, plugin, "storePath")):
            name = tree.get(*steps)
            if isinstance(name, str) and name and "\0" not in name:
                yield name


def _read(path: Path) -> dict[str, Any] | None:
    """The content of the file; None if it is not that plugin's."""
    value = _json(path)
    if isinstance(value, dict) and set(value) == set(KINDS) and all(isinstance(value[kind], dict) for kind in KINDS):
        return value
    return None


def _json(path: Path) -> Any:
    try:
        return json.loads(atomic.read_bounded(path, MAX_BYTES)) if _is_file(path) else None
    except (OSError, ValueError, RecursionError):
        return None


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _is_ours(path: Path) -> bool:
    """Whether the file is a store of toolguard."""
    value = _json(path)
    return isinstance(value, dict) and "entries" in value


def _waiting(state: dict[str, Any], now_ms: float) -> int:
    entries = [entry for kind in KINDS for entry in state.get(kind, {}).values()]
    ends = [entry.get("expiresAt") for entry in entries if isinstance(entry, dict)]
    return sum(isinstance(end, int | float) and end > now_ms for end in ends)
