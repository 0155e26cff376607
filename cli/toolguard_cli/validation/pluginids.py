"""Plugins that the config names: those that toolguard replaces, and names that are nearly those of plugins that are there.

Which plugins OpenClaw brings along is not known here; that a plugin is not there at all, OpenClaw says by itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from toolguard_cli.configtree import Steps
from toolguard_cli.migrations import entries, hostloops
from toolguard_cli.migrations.data import migrations
from toolguard_cli.paths import PLUGIN_ID
from toolguard_cli.setup.entry import ALLOW, ENTRIES, LOAD_PATHS
from toolguard_cli.validation.finding import Finding, finding
from toolguard_cli.validation.loading import listed, placed, plugin_id
from toolguard_cli.validation.subject import Subject
from toolguard_engine import answers

SLOTS = ("plugins", "slots")
NO_PLUGIN = "none"
MAX_FOLDERS = 1000
MAX_NAMED = 10


def are_known(subject: Subject) -> Iterator[Finding]:
    there = {PLUGIN_ID, *_there(subject)}
    replaced = {plugin: each for each in migrations() for plugin in each.ids}
    for steps, plugin in _named(subject):
        if plugin in replaced:
            if steps[:2] == SLOTS:
                message = f"toolguard takes the place of {plugin}, but fills no slot"
                yield finding(subject.tree, steps, "warn", message, "choose another plugin for it")
            elif steps[:2] == ALLOW and entries.open_matters(subject.tree, replaced[plugin], plugin, lies=plugin in there):
                yield _replaced(subject, steps, plugin)
        elif plugin not in there and (near := difflib.get_close_matches(plugin, there, 1, 0.85)):
            yield finding(subject.tree, steps, "warn", f"there is no plugin {plugin}", f"did you mean {near[0]}?")


def are_there(subject: Subject) -> Iterator[Finding]:
    """Those of which only OpenClaw can tell, where it is not asked: it brings many along."""
    there = {PLUGIN_ID, *_there(subject)} | {plugin for each in migrations() for plugin in each.ids}
    untold = list(dict.fromkeys(plugin for _, plugin in _named(subject) if plugin not in there))
    if untold:
        more = f" and {len(untold) - MAX_NAMED} more" if len(untold) > MAX_NAMED else ""
        names = answers.cut(", ".join(untold[:MAX_NAMED]), 400)
        yield Finding(
            "info", "", f"only OpenClaw can tell whether it has these plugins: {names}{more}", "", str(subject.tree.path)
        )


def are_taken_over(subject: Subject) -> Iterator[Finding]:
    """Entries of plugins that toolguard replaces, and the gateway's loop detection as it was before it had less of it."""
    for migration in migrations():
        for plugin in migration.ids:
            if entries.open_matters(subject.tree, migration, plugin):
                yield _replaced(subject, (*ENTRIES, plugin), plugin)
        for block in hostloops.blocks(subject.tree, migration) if "host_loops" in migration.steps else ():
            for field in block.fields:
                message = "OpenClaw 2026.9 and later know this no more, and throw it away with all comments of the file"
                yield finding(subject.tree, (*block.steps, field), "warn", message, subject.mend("migrate"))


def _replaced(subject: Subject, steps: Steps, plugin: str) -> Finding:
    return finding(subject.tree, steps, "warn", f"toolguard takes the place of {plugin}", subject.mend("migrate"))


def _named(subject: Subject) -> Iterator[tuple[Steps, str]]:
    for group in (ENTRIES, SLOTS):
        value = subject.tree.get(*group)
        for key, named in value.items() if isinstance(value, dict) else ():
            plugin = key if group == ENTRIES else named
            if isinstance(plugin, str) and (group, plugin) != (SLOTS, NO_PLUGIN):
                yield (*group, key), plugin
    for at, plugin in enumerate(listed(subject.tree.get(*ALLOW))):
        if isinstance(plugin, str):
            yield (*ALLOW, at), plugin


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
