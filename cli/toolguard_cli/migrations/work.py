"""What every step of a migration gets to work on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from toolguard_cli.configdraft import Draft
from toolguard_cli.configtree import ConfigTree
from toolguard_cli.errors import UserError
from toolguard_cli.migrations.data import Migration
from toolguard_cli.migrations.report import Report
from toolguard_cli.setup.entry import ALLOW, DENY, ENABLED, ENTRIES, ENTRY


@dataclass
class Work:
    """One migration at work. `lying`: old plugins that were found on the disk. `enabled`: whether any old one is on."""

    draft: Draft
    migration: Migration
    report: Report
    lying: dict[str, list[Path]] = field(default_factory=dict)
    enabled: bool = True

    def refuse_odd_shapes(self) -> None:
        """Raises `UserError` where our entry could not take settings."""
        for steps in (ENTRY, (*ENTRY, "config")):
            part = self.draft.tree.part(steps)
            if part is not None and not isinstance(part.content, dict):
                raise UserError(f"{part.spots[-1].words}: {'.'.join(steps)} is no object", "mend it, then repeat")

    def own_entry(self) -> None:
        """Our entry is there, and on where an old one was. What it says itself stays. Raises `UserError`."""
        self.refuse_odd_shapes()
        tree = self.draft.tree
        if tree.part(ENABLED) is None and (self.enabled or tree.part(ENTRY) is None):
            self.draft.set(ENABLED, self.enabled)
            self.report.changed.append(f"{'.'.join(ENABLED)} = {str(self.enabled).lower()}")


def names(tree: ConfigTree, steps: tuple[str, ...], plugin: str) -> bool:
    """Whether the list at this path names the plugin."""
    found = tree.get(*steps)
    return isinstance(found, list) and plugin in found


def is_on(tree: ConfigTree, plugin: str, *, lies: bool) -> bool:
    """Whether the gateway loads this plugin if it is there. `lies`: it was found, so no entry is needed."""
    if names(tree, DENY, plugin):
        return False
    part = tree.part((*ENTRIES, plugin))
    if part is None:
        return lies and (not isinstance(tree.get(*ALLOW), list) or names(tree, ALLOW, plugin))
    if isinstance(part.content, dict):
        return tree.get(*ENTRIES, plugin, "enabled") is not False
    return part.content not in (None, False)
