"""A quick check for anything to migrate, for commands that only report it."""

from __future__ import annotations

from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.hostconfig.json5_edit import path_name
from toolguard_cli.migrations import entries, hostloops
from toolguard_cli.migrations.old_plugins import migrations
from toolguard_cli.setup.plugin_entry import ENTRIES


def find(tree: ConfigTree) -> list[str]:
    """The ids of old plugins whose entries are enabled or not migrated, and the paths of the gateway's loop detection blocks
    with removed settings.

    Examines only the tree; `toolguard migrate` also examines the disk.
    """
    names = []
    for migration in migrations():
        names += [
            plugin
            for plugin in migration.ids
            if tree.part((*ENTRIES, plugin)) is not None and entries.open_matters(tree, migration, plugin)
        ]
        if "host_loops" in migration.steps:
            names += [path_name(block.steps) for block in hostloops.blocks(tree, migration)]
    return names
