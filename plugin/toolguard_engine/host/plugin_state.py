"""Whether the gateway's config still lets it load the plugin."""

from __future__ import annotations

import os.path
from typing import Any

PLUGIN_ID = "toolguard"


def why_unloaded(plugins: object, root: str = "", state_dir: str = "") -> str:
    """The reason in words, or an empty string if nothing in `plugins` (that section of the config) is known to prevent
    loading.

    `root`: the folder it was loaded from. `state_dir`: give it only if the gateway is known to find the plugin the way
    `is_found` describes.
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
    if root and state_dir and is_found(known, root, state_dir) is False:
        return "plugins.load.paths does not name its folder"
    return ""


def is_found(plugins: object, root: str, state_dir: str) -> bool | None:
    """Whether the gateway finds the folder `root`: in the extensions of its state directory, or because `load.paths` names
    it, its parent folder, or a file in it.

    None if only the gateway can tell, because a path depends on its variables or its working directory. The gateway also
    searches its workspace; this function does not.
    """
    paths = _table(_table(plugins).get("load")).get("paths")
    named = [path for path in paths if isinstance(path, str) and "\0" not in path] if isinstance(paths, list) else []
    places = [_without_tilde(path) for path in named]
    folder = os.path.realpath(root)
    around = (folder, os.path.dirname(folder))  # noqa: PTH120
    for place in (os.path.join(state_dir, "extensions"), *places):  # noqa: PTH118
        real = _real(place)
        if real in around or os.path.dirname(real) == folder:  # noqa: PTH120
            return True
    return None if any("${" in place or not os.path.isabs(place) for place in places) else False  # noqa: PTH117


def _without_tilde(path: str) -> str:
    try:
        return os.path.expanduser(path)  # noqa: PTH111 - `Path` raises for an unknown user
    except ValueError:  # half a surrogate pair
        return path


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # half a surrogate pair
        return ""


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
