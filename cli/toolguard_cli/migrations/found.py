"""A quick look at whether there is anything to migrate, for commands that only say so."""

from __future__ import annotations

from toolguard_cli.configtree import ConfigTree
from toolguard_cli.json5_edit import path_name
from toolguard_cli.migrations import entries, hostloops
from toolguard_cli.migrations.data import migrations
from toolguard_cli.setup.entry import ENTRIES


def found(tree: ConfigTree) -> list[str]:
    """Old plugins whose entries are on or not taken over, by id; blocks of the gateway's loop detection with too much.

    Reads nothing but the tree: what lies on the disk, `toolguard migrate` finds.
    """
    found = []
    for migration in migrations():
        found += [
            plugin
            for plugin in migration.ids
            if tree.part((*ENTRIES, plugin)) is not None and entries.open_matters(tree, migration, plugin)
        ]
        if "host_loops" in migration.steps:
            found += [path_name(block.steps) for block in hostloops.blocks(tree, migration)]
    return found
