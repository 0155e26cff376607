"""Plugins that the config names: those that toolguard replaces, and probable misspellings of installed ones.

OpenClaw's bundled plugins are not known here; OpenClaw itself reports plugins that do not exist.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from toolguard_cli.hostconfig.config_tree import Steps
from toolguard_cli.hostconfig.finding import ConfigFinding, finding
from toolguard_cli.migrations import entries, hostloops
from toolguard_cli.migrations.old_plugins import migrations
from toolguard_cli.setup.plugin_entry import ALLOW, ENTRIES, LOAD_PATHS
from toolguard_cli.setup.plugin_folder import plugin_id
from toolguard_cli.system.paths import PLUGIN_ID
from toolguard_cli.validation.loading import listed, placed
from toolguard_cli.validation.subject import ConfigSubject
from toolguard_engine.wording import printable

SLOTS = ("plugins", "slots")
NO_PLUGIN = "none"
MAX_FOLDERS = 1000
MAX_NAMED = 10


def are_known(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    there = {PLUGIN_ID, *_there(subject)}
    replaced = {plugin: migration for migration in migrations() for plugin in migration.ids}
    for steps, plugin in _named(subject):
        if plugin in replaced:
            if steps[:2] == SLOTS:
                message = f"toolguard replaces {plugin}, but not in slots"
                yield finding(subject.tree, steps, "warn", message, "choose another plugin for it")
            elif steps[:2] == ALLOW and entries.open_matters(subject.tree, replaced[plugin], plugin, lies=plugin in there):
                yield _replaced(subject, steps, plugin)
        elif plugin not in there and (near := difflib.get_close_matches(plugin, there, 1, 0.85)):
            yield finding(subject.tree, steps, "warn", f"there is no plugin {plugin}", f"did you mean {near[0]}?")


def are_there(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Plugins that only OpenClaw can verify, because it bundles many; only used if OpenClaw does not validate the config."""
    there = {PLUGIN_ID, *_there(subject)} | {plugin for migration in migrations() for plugin in migration.ids}
    unknown = list(dict.fromkeys(plugin for _, plugin in _named(subject) if plugin not in there))
    if unknown:
        more = f" and {len(unknown) - MAX_NAMED} more" if len(unknown) > MAX_NAMED else ""
        names = printable.cut(", ".join(unknown[:MAX_NAMED]), 400)
        message = f"only OpenClaw can check whether these plugins exist: {names}{more}"
        yield ConfigFinding("info", "", message, "", str(subject.tree.path))


def are_taken_over(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Entries of plugins that toolguard replaces, and settings of the gateway's loop detection that were removed."""
    for migration in migrations():
        for plugin in migration.ids:
            if entries.open_matters(subject.tree, migration, plugin):
                yield _replaced(subject, (*ENTRIES, plugin), plugin)
        for block in hostloops.blocks(subject.tree, migration) if "host_loops" in migration.steps else ():
            for field in block.fields:
                message = "OpenClaw 2026.9 and later remove this unknown setting along with all comments in the file"
                yield finding(subject.tree, (*block.steps, field), "warn", message, subject.command("migrate"))


def _replaced(subject: ConfigSubject, steps: Steps, plugin: str) -> ConfigFinding:
    return finding(subject.tree, steps, "warn", f"toolguard replaces {plugin}", subject.command("migrate"))


def _named(subject: ConfigSubject) -> Iterator[tuple[Steps, str]]:
    for group in (ENTRIES, SLOTS):
        value = subject.tree.get(*group)
        for key, named in value.items() if isinstance(value, dict) else ():
            plugin = key if group == ENTRIES else named
            if isinstance(plugin, str) and (group, plugin) != (SLOTS, NO_PLUGIN):
                yield (*group, key), plugin
    for at, plugin in enumerate(listed(subject.tree.get(*ALLOW))):
        if isinstance(plugin, str):
            yield (*ALLOW, at), plugin


def _there(subject: ConfigSubject) -> Iterator[str]:
    """The ids of the plugins in the folders that the gateway searches."""
    extensions = subject.places.state_dir / "extensions"
    folders = [*_folders(extensions), *filter(None, map(placed, map(str, listed(subject.tree.get(*LOAD_PATHS)))))]
    yield from filter(None, map(plugin_id, folders))


def _folders(extensions: Path) -> list[Path]:
    try:
        return sorted(path for path in extensions.iterdir() if path.is_dir())[:MAX_FOLDERS]
    except OSError:
        return []
