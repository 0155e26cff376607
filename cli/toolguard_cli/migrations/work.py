"""The context of every migration step."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.migrations.old_plugins import Migration
from toolguard_cli.migrations.report import MigrationReport
from toolguard_cli.setup.plugin_entry import ALLOW, DENY, ENABLED, ENTRIES, ENTRY
from toolguard_cli.system.errors import UserError


@dataclass
class Work:
    """One migration in progress. `lying`: old plugins found on disk. `enabled`: whether any old plugin is enabled."""

    draft: Draft
    migration: Migration
    report: MigrationReport
    lying: dict[str, list[Path]] = field(default_factory=dict)
    enabled: bool = True

    def refuse_odd_shapes(self) -> None:
        """Raises `UserError` if toolguard's entry cannot hold settings."""
        for steps in (ENTRY, (*ENTRY, "config")):
            part = self.draft.tree.part(steps)
            if part is not None and not isinstance(part.content, dict):
                raise UserError(f"{part.spots[-1].words}: {'.'.join(steps)} is not an object", "fix it, then try again")

    def own_entry(self) -> None:
        """Adds toolguard's entry, enabled if an old plugin was; does not override `enabled`. Raises `UserError`."""
        self.refuse_odd_shapes()
        tree = self.draft.tree
        if tree.part(ENABLED) is None and (self.enabled or tree.part(ENTRY) is None):
            self.draft.set(ENABLED, self.enabled)
            self.report.changed.append(f"{'.'.join(ENABLED)} = {str(self.enabled).lower()}")


def names(tree: ConfigTree, steps: tuple[str, ...], plugin: str) -> bool:
    listed = tree.get(*steps)
    return isinstance(listed, list) and plugin in listed


def is_on(tree: ConfigTree, plugin: str, *, lies: bool) -> bool:
    """Whether the gateway loads this plugin if it exists. `lies`: it was found on disk, so it needs no entry."""
    if names(tree, DENY, plugin):
        return False
    part = tree.part((*ENTRIES, plugin))
    if part is None:
        return lies and (not isinstance(tree.get(*ALLOW), list) or names(tree, ALLOW, plugin))
    if isinstance(part.content, dict):
        return tree.get(*ENTRIES, plugin, "enabled") is not False
    return part.content not in (None, False)
