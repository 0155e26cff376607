"""Plugins that the config names: those that toolguard replaces, and names that are nearly those of plugins that are there.

Which plugins OpenClaw brings along is not known here; that a plugin is not there at all, OpenClaw says by itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from toolguard_cli.configtree import Steps
from toolguard_cli.paths import PLUGIN_ID
from toolguard_cli.setup.entry import ALLOW, LOAD_PATHS
from toolguard_cli.validation.finding import Finding, finding
from toolguard_cli.validation.loading import DENY, listed, placed, plugin_id
from toolguard_cli.validation.subject import Subject

REPLACED = frozenset({"tool-guard", "guardian-angel", "equilibrium-guard"})
ENTRIES = ("plugins", "entries")
SLOTS = ("plugins", "slots")
MAX_FOLDERS = 1000


def are_known(subject: Subject) -> Iterator[Finding]:
    there = {PLUGIN_ID, *_there(subject)}
    for steps, plugin in _named(subject):
        if plugin in REPLACED:
            message = f"toolguard takes the place of {plugin}"
            if _is_active(subject, steps):
                yield finding(subject.tree, steps, "warn", message, subject.mend("migrate"))
        elif plugin not in there and (near := difflib.get_close_matches(plugin, there, 1, 0.85)):
            yield finding(subject.tree, steps, "warn", f"there is no plugin {plugin}", f"did you mean {near[0]}?")


def _is_active(subject: Subject, steps: Steps) -> bool:
    """An entry that is switched off is left for its settings."""
    return steps[:2] != ENTRIES or subject.tree.get(*steps, "enabled") is not False


def _named(subject: Subject) -> Iterator[tuple[Steps, str]]:
    for group in (ENTRIES, SLOTS):
        value = subject.tree.get(*group)
        for key, named in value.items() if isinstance(value, dict) else ():
            plugin = key if group == ENTRIES else named
            if isinstance(plugin, str):
                yield (*group, key), plugin
    for group in (ALLOW, DENY):
        for at, plugin in enumerate(listed(subject.tree.get(*group))):
            if isinstance(plugin, str) and not (group == DENY and plugin in REPLACED):
                yield (*group, at), plugin


def _there(subject: Subject) -> Iterator[str]:
    """The ids of the plugins in the folders that the gateway looks into."""
    extensions = subject.places.state_dir / "extensions"
    folders = [*_folders(extensions), *filter(None, map(placed, map(str, listed(subject.tree.get(*LOAD_PATHS)))))]
    yield from filter(None, map(plugin_id, folders))


def _folders(extensions: Path) -> list[Path]:
    try:
        return sorted(path for path in extensions.iterdir() if path.is_dir())[:MAX_FOLDERS]
    except OSError:
        return []
