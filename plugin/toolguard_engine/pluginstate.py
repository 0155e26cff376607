"""Whether the gateway's config still lets it load the plugin."""

from __future__ import annotations

import os.path
from typing import Any

PLUGIN_ID = "toolguard"


def why_unloaded(plugins: object, root: str = "", state_dir: str = "") -> str:
    """In words; empty where nothing in `plugins`, that part of the config, keeps the gateway from loading it.

    `root`: the folder that it was loaded from.
    """
    known = _table(plugins)
    own = _table(_table(known.get("entries")).get(PLUGIN_ID))
    allow, deny = known.get("allow"), known.get("deny")
    if known.get("enabled") is False:
        return "plugins.enabled is false"
    if own.get("enabled") is False:
        return f"plugins.entries.{PLUGIN_ID}.enabled is false"
    if isinstance(deny, list) and PLUGIN_ID in deny:
        return f"plugins.deny names {PLUGIN_ID}"
    if isinstance(allow, list) and allow and PLUGIN_ID not in allow:
        return f"plugins.allow does not name {PLUGIN_ID}"
    if root and not os.path.isdir(root):  # noqa: PTH112 - never raises
        return "its folder is gone"
    if root and state_dir and not _is_found(known, root, state_dir):
        return "plugins.load.paths does not name its folder"
    return ""


def _is_found(plugins: dict[str, Any], root: str, state_dir: str) -> bool:
    paths = _table(plugins.get("load")).get("paths")
    named = [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
    folders = [os.path.join(state_dir, "extensions", PLUGIN_ID), *map(os.path.expanduser, named)]  # noqa: PTH118
    return any("\0" not in folder and os.path.realpath(folder) == os.path.realpath(root) for folder in folders)


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
