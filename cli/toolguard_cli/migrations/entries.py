"""Migrates an old plugin's entry: moves its settings and switches it off. The entry stays, with the remaining settings."""

from __future__ import annotations

from toolguard_cli.hostconfig.config_tree import ConfigTree, Steps
from toolguard_cli.hostconfig.json5_edit import path_name
from toolguard_cli.migrations.moving import OURS, Holder, Move, drop_empty, perform
from toolguard_cli.migrations.old_plugins import Migration
from toolguard_cli.migrations.report import Left, MigrationReport, named, shown
from toolguard_cli.migrations.work import Work, is_on
from toolguard_cli.setup.plugin_entry import ENTRIES, ENTRY, HOST_KEYS


def run(work: Work) -> None:
    for plugin in work.migration.ids:
        if open_matters(work.draft.tree, work.migration, plugin, lies=plugin in work.lying):
            _take_over(work, plugin)
        else:
            work.report.left += [
                act for act in _acts(work.draft.tree, work.migration, plugin, work.report) if isinstance(act, Left)
            ]


def renamed(work: Work) -> None:
    for plugin in work.migration.ids:
        steps, tree = (*ENTRIES, plugin), work.draft.tree
        entry = tree.get(*steps)
        if not isinstance(entry, dict) or not entry.keys() <= HOST_KEYS or tree.part(ENTRY) is not None:
            continue
        acts = _acts(tree, work.migration, plugin, work.report)
        if all(isinstance(act, Move) and act.target == OURS for act in acts) and isinstance(entry.get("config", {}), dict):
            work.draft.move(steps, ENTRY)
            work.report.touched.append(plugin)
            work.report.moved += [moved for act in acts if isinstance(act, Move) for moved in act.moved]
            work.report.changed.append(f"{named(path_name(steps))} is now {path_name(ENTRY)}")
            work.own_entry()


def open_matters(tree: ConfigTree, migration: Migration, plugin: str, *, lies: bool = False) -> bool:
    """Whether there is anything to do about this plugin."""
    part = tree.part((*ENTRIES, plugin))
    if part is None or not isinstance(part.content, dict):
        return part is not None or is_on(tree, plugin, lies=lies)
    entry = part.value
    if entry.get("enabled") is not False or not isinstance(entry.get("config", {}), dict) or _strays(entry):
        return True
    return any(isinstance(act, Move) for act in _acts(tree, migration, plugin, MigrationReport()))


def _acts(tree: ConfigTree, migration: Migration, plugin: str, report: MigrationReport) -> list[Move | Left]:
    steps: Steps = (*ENTRIES, plugin, "config")
    if not isinstance(tree.get(*steps), dict):
        return []
    return list(Holder(tree, steps, plugin, report).whole(migration))


def _strays(entry: dict[str, object]) -> list[str]:
    """Keys of settings that are in the entry itself, outside `config`."""
    return [key for key in entry if key not in HOST_KEYS]


def _take_over(work: Work, plugin: str) -> None:
    steps: Steps = (*ENTRIES, plugin)
    config: Steps = (*steps, "config")
    draft, report = work.draft, work.report
    report.touched.append(plugin)
    work.own_entry()
    perform(draft, _acts(draft.tree, work.migration, plugin, report), report, len(config))
    entry = draft.tree.get(*steps)
    if isinstance(entry, dict):
        acts = list(Holder(draft.tree, steps, plugin, report).some(work.migration, _strays(entry)))
        perform(draft, acts, report, len(steps) + 1)
        _repair(work, plugin)
    _switch_off(work, plugin)
    for name, value in work.migration.set.items():
        target = tuple(name.split("."))
        if draft.tree.part((*OURS, *target)) is None:
            draft.set((*OURS, *target), value)
            report.changed.append(f"toolguard {name} = {shown(value)}, as {plugin} has it")


def _repair(work: Work, plugin: str) -> None:
    """Moves or removes what keeps the gateway from starting even if the plugin is switched off."""
    draft, report = work.draft, work.report
    steps: Steps = (*ENTRIES, plugin)
    config: Steps = (*steps, "config")
    if not isinstance(draft.tree.get(*steps).get("config", {}), dict):
        report.changed.append(
            f"{named(path_name(config))} = {shown(draft.tree.get(*config))} is removed: it is not an object"
        )
        draft.delete(config)
    for key in _strays(draft.tree.get(*steps)):
        if draft.tree.part((*config, key)) is None:
            draft.move((*steps, key), (*config, key))
            report.changed.append(
                f"{named(path_name((*steps, key)))} is now in its config, the only place where the gateway accepts it"
            )
        else:
            draft.delete((*steps, key))
            report.changed.append(f"{named(path_name((*steps, key)))} is removed: its config already has one")


def _switch_off(work: Work, plugin: str) -> None:
    draft, steps = work.draft, (*ENTRIES, plugin)
    entry = draft.tree.get(*steps)
    if draft.tree.part(steps) is not None and not isinstance(entry, dict):
        draft.set(steps, {"enabled": False})
        work.report.changed.append(f"{named(path_name(steps))} was {shown(entry)}, which is not an object: switched off")
    elif not isinstance(entry, dict) or entry.get("enabled") is not False:
        draft.set((*steps, "enabled"), value=False)
        work.report.changed.append(f"{named(path_name(steps))} is switched off (enabled: false)")
    drop_empty(draft, (*steps, "config"))
