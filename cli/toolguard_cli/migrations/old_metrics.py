"""The old plugin's metrics databases that can be imported, and the database to import them into."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from toolguard_cli.hostconfig import env_vars
from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.migrations import allowed
from toolguard_cli.migrations.moving import OURS
from toolguard_cli.migrations.old_plugins import Migration
from toolguard_cli.setup.plugin_entry import ENTRIES
from toolguard_cli.system.paths import Places
from toolguard_engine.config import settings
from toolguard_engine.host import metrics_path
from toolguard_engine.metrics import importing
from toolguard_engine.metrics.database import MetricsError
from toolguard_engine.stores import call_log


@dataclass(frozen=True)
class OldDatabase:
    """`last`: the time of its newest row, in milliseconds since 1970."""

    path: Path
    into: Path
    events: int
    last: int


def find(
    before: ConfigTree, after: ConfigTree, places: Places, migration: Migration, known: Mapping[str, int]
) -> tuple[list[OldDatabase], list[str]]:
    """The databases with rows that are not imported yet, and the problems with others. `known`: how far each was read."""
    into = _ours(after)
    databases, problems = [], []
    for path in dict.fromkeys(_candidates(before, places, migration, into)):
        try:
            old = importing.find(path) if path.is_file() else None
        except MetricsError as error:
            problems.append(f"the old metrics are not imported: {error}")
            continue
        if old and (old.events or old.hours or old.days) and (old.last or 0) > known.get(str(path), -1):
            databases.append(OldDatabase(path, into, old.events, old.last or 0))
    return databases, problems


def _candidates(tree: ConfigTree, places: Places, migration: Migration, into: Path) -> Iterator[Path]:
    """The paths that the plugin may have used. It knew only the account's home, no other state directory."""
    for plugin in migration.ids:
        for steps in ((*ENTRIES, plugin, "config"), (*ENTRIES, plugin)):
            metrics = tree.get(*steps, "metrics")
            if isinstance(metrics, dict):
                yield from _spelled(metrics.get("dbPath", settings.DEFAULT_METRICS_PATH), places)
    yield call_log.resolve(settings.DEFAULT_METRICS_PATH, places.state_dir)
    yield into


def _spelled(name: Any, places: Places) -> Iterator[Path]:
    if isinstance(name, str) and name and "\0" not in name:
        filled = env_vars.filled(name)
        yield Path(os.path.expanduser(filled)).absolute()  # noqa: PTH111 - a home that is unknown stays as it is
        yield call_log.resolve(filled, places.state_dir)


def _ours(tree: ConfigTree) -> Path:
    try:
        config = allowed.parsed(tree.get(*OURS))
    except msgspec.ValidationError:
        config = settings.Config()
    return metrics_path.resolve(config.metrics.db_path)
