"""The folders of old plugins and the workspaces of agents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from toolguard_cli.hostconfig import env_vars
from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.setup.plugin_entry import LOAD_PATHS
from toolguard_cli.setup.plugin_folder import plugin_id
from toolguard_cli.system.paths import Places

MAX_PLACES = 200
"""Limit of workspaces, and of load paths, that are examined."""


def workspaces(tree: ConfigTree, places: Places) -> list[Path]:
    """The agents' workspaces, without duplicates; they need not exist."""
    named = [tree.get("agents", "defaults", "workspace")]
    for agents in (tree.get("agents", "list"), tree.get("agents", "entries")):
        listed = agents.values() if isinstance(agents, dict) else agents if isinstance(agents, list) else ()
        named += [agent.get("workspace") for agent in listed if isinstance(agent, dict)]
    written = [name for name in named if isinstance(name, str) and name][:MAX_PLACES]
    return list(dict.fromkeys([places.state_dir / "workspace", *(expanded(name, places.state_dir) for name in written)]))


def plugins(tree: ConfigTree, places: Places, ids: list[str]) -> dict[str, list[Path]]:
    roots = [places.state_dir, *(workspace / ".openclaw" for workspace in workspaces(tree, places))]
    by_plugin: dict[str, list[Path]] = {}
    for plugin in ids:
        folders = [root / "extensions" / plugin for root in roots]
        there = [folder for folder in folders if _is_folder(folder)]
        there += [folder for folder in _loaded(tree, places) if plugin in (folder.name, plugin_id(folder))]
        if there:
            by_plugin[plugin] = there
    return by_plugin


def _loaded(tree: ConfigTree, places: Places) -> Iterator[Path]:
    paths = tree.get(*LOAD_PATHS)
    for path in paths[:MAX_PLACES] if isinstance(paths, list) else ():
        if isinstance(path, str) and path and "\0" not in path:
            folder = expanded(path, places.state_dir)
            if _is_folder(folder):
                yield folder


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def expanded(written: str, folder: Path) -> Path:
    """A path of the config: variables and `~` expanded; relative paths are in `folder`."""
    filled: str = env_vars.filled(written)
    return folder / os.path.expanduser(filled)  # noqa: PTH111 - a home that is unknown stays as it is
