"""The entry of an old plugin: its settings become ours, and it is switched off. It stays, with what has no counterpart."""

from __future__ import annotations

from toolguard_cli.configtree import ConfigTree, Steps
from toolguard_cli.json5_edit import path_name
from toolguard_cli.migrations.data import Migration
from toolguard_cli.migrations.moving import OURS, Holder, Move, drop_empty, perform
from toolguard_cli.migrations.report import Left, Report, named, shown
from toolguard_cli.migrations.work import Work, is_on
from toolguard_cli.setup.entry import ENTRIES, ENTRY, HOST_KEYS


def run(work: Work) -> None:
    for plugin in work.migration.ids:
        if open_matters(work.draft.tree, work.migration, plugin, lies=plugin in work.lying):
            _take_over(work, plugin)
        else:
            work.report.left += [
                act for act in _acts(work.draft.tree, work.migration, plugin, work.report) if isinstance(act, Left)
            ]


def renamed(work: Work) -> None:
    """A whole entry becomes ours where there is none yet."""
    for plugin in work.migration.ids:
        steps, tree = (*ENTRIES, plugin), work.draft.tree
        entry = tree.get(*steps)
        if not isinstance(entry, dict) or not entry.keys() <= HOST_KEYS or tree.part(ENTRY) is not None:
            continue
        acts = _acts(tree, work.migration, plugin, work.report)
        if all(isinstance(act, Move) and act.target == OURS for act in acts) and isinstance(entry.get("config", {}), dict):
            work.draft.move(steps, ENTRY)
            work.report.touched.append(plugin)
            work.report.moved += [told for act in acts if isinstance(act, Move) for told in act.told]
            work.report.changed.append(f"{named(path_name(steps))} is {path_name(ENTRY)} now")
            work.own_entry()


def open_matters(tree: ConfigTree, migration: Migration, plugin: str, *, lies: bool = False) -> bool:
    """Whether there is anything to do about this plugin."""
    part = tree.part((*ENTRIES, plugin))
    if part is None or not isinstance(part.content, dict):
        return part is not None or is_on(tree, plugin, lies=lies)
    entry = part.value
    if entry.get("enabled") is not False or not isinstance(entry.get("config", {}), dict) or _strays(entry):
        return True
    return any(isinstance(act, Move) for act in _acts(tree, migration, plugin, Report()))


def _acts(tree: ConfigTree, migration: Migration, plugin: str, report: Report) -> list[Move | Left]:
    """About what lies in `config`, where it is."""
    steps: Steps = (*ENTRIES, plugin, "config")
    if not isinstance(tree.get(*steps), dict):
        return []
    return list(Holder(tree, steps, plugin, report).whole(migration))


def _strays(entry: dict[str, object]) -> list[str]:
    """Settings that stand in the entry itself."""
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
        _mend(work, plugin)
    _switch_off(work, plugin)
    for name, value in work.migration.set.items():
        target = tuple(name.split("."))
        if draft.tree.part((*OURS, *target)) is None:
            draft.set((*OURS, *target), value)
            report.changed.append(f"toolguard {name} = {shown(value)}, as {plugin} has it")


def _mend(work: Work, plugin: str) -> None:
    """What the gateway refuses to start with, switched off or not, goes to where it takes it, or out."""
    draft, report = work.draft, work.report
    steps: Steps = (*ENTRIES, plugin)
    config: Steps = (*steps, "config")
    if not isinstance(draft.tree.get(*steps).get("config", {}), dict):
        report.changed.append(f"{named(path_name(config))} = {shown(draft.tree.get(*config))} is taken out: it is no object")
        draft.delete(config)
    for key in _strays(draft.tree.get(*steps)):
        if draft.tree.part((*config, key)) is None:
            draft.move((*steps, key), (*config, key))
            report.changed.append(f"{named(path_name((*steps, key)))} is in its config now: the gateway takes it only there")
        else:
            draft.delete((*steps, key))
            report.changed.append(f"{named(path_name((*steps, key)))} is taken out: its config has one, too")


def _switch_off(work: Work, plugin: str) -> None:
    draft, steps = work.draft, (*ENTRIES, plugin)
    entry = draft.tree.get(*steps)
    if draft.tree.part(steps) is not None and not isinstance(entry, dict):
        draft.set(steps, {"enabled": False})
        work.report.changed.append(f"{named(path_name(steps))} was {shown(entry)}, which is no object: switched off")
    elif not isinstance(entry, dict) or entry.get("enabled") is not False:
        draft.set((*steps, "enabled"), value=False)
        work.report.changed.append(f"{named(path_name(steps))} is switched off (enabled: false)")
    drop_empty(draft, (*steps, "config"))
