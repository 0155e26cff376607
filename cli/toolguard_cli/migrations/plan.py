"""All that would be done, found out before anything is touched; then done, so that it can be taken back at any point."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from toolguard_cli import configvars
from toolguard_cli.configdraft import Draft
from toolguard_cli.configfile import backup_path, digest
from toolguard_cli.configtree import ConfigTree, Steps
from toolguard_cli.errors import UserError
from toolguard_cli.json5_edit import path_name
from toolguard_cli.migrations import calls, disk, entries, hostloops, journal, metrics
from toolguard_cli.migrations.calls import OldCalls
from toolguard_cli.migrations.data import Migration
from toolguard_cli.migrations.journal import Journal, KeptFile, KeptImport, KeptMove
from toolguard_cli.migrations.metrics import OldDatabase
from toolguard_cli.migrations.moving import OURS
from toolguard_cli.migrations.report import Report, named
from toolguard_cli.migrations.work import Work, is_on, names
from toolguard_cli.paths import PLUGIN_ID, Places
from toolguard_cli.progress import Tell
from toolguard_cli.setup.entry import ALLOW, DENY, ENABLED
from toolguard_engine import __version__
from toolguard_engine.metrics import importing
from toolguard_engine.metrics.database import MetricsError
from toolguard_engine.metrics.importing import Imported

STEPS: dict[str, Callable[[Work], None]] = {
    "entries": entries.run,
    "renamed": entries.renamed,
    "host_loops": hostloops.run,
}

NOT_ON: tuple[tuple[Steps, object], ...] = (
    (("plugins", "enabled"), False),
    (ENABLED, False),
    ((*OURS, "enabled"), False),
    ((*OURS, "mode"), "disabled"),
)
"""Values with which nothing is guarded, though the old plugins are off."""


class Plan:
    """`report` says in words what `draft`, `calls` and `databases` would change. Raises `UserError`."""

    def __init__(self, places: Places, tree: ConfigTree, migrations: Sequence[Migration]) -> None:
        self.places = places
        self.draft = Draft(tree)
        self.report = Report()
        self.calls: list[OldCalls] = []
        self.databases: list[OldDatabase] = []
        self._ids = [plugin for each in migrations for plugin in each.ids]
        self._lying = disk.plugins(tree, places, self._ids)
        on = any(is_on(tree, plugin, lies=plugin in self._lying) for plugin in self._ids)
        for migration in migrations:
            work = Work(self.draft, migration, self.report, self._lying, on)
            for step in migration.steps:
                STEPS[step](work)
            for keeper in migration.keeps:
                _KEEPERS[keeper](self, migration)
            if set(migration.ids) & set(self.report.touched):
                self.report.notes += [f"{migration.ids[0]}: {note}" for note in migration.notes]
        self._lists()
        self._effects()

    @property
    def changes(self) -> bool:
        return bool(self.draft.changes() or self.calls or self.databases)

    @property
    def fingerprint(self) -> object:
        """Equal for plans that do the same."""
        return (
            [(change.file.path, change.file.data, change.text) for change in self.draft.changes()],
            [each.path for each in self.calls],
            [each.path for each in self.databases],
        )

    def _lists(self) -> None:
        """What else of the config names the old plugins that are replaced now."""
        tree, touched = self.draft.tree, [plugin for plugin in self._ids if plugin in self.report.touched]
        if any(names(tree, ALLOW, plugin) for plugin in touched) and not names(tree, ALLOW, PLUGIN_ID):
            self.draft.append(ALLOW, PLUGIN_ID)
            self.report.changed.append(f'plugins.allow names "{PLUGIN_ID}" too')
        if touched and names(tree, DENY, PLUGIN_ID):
            self.report.warnings.append(f'plugins.deny names "{PLUGIN_ID}": take it out, or the guard does not load')
        slots = tree.get("plugins", "slots")
        for slot, plugin in slots.items() if isinstance(slots, dict) else ():
            if plugin in self._ids:
                self.report.warnings.append(
                    f"{named(path_name(('plugins', 'slots', slot)))} names {plugin}: choose another plugin for it"
                )
        for plugin in touched:
            for folder in self._lying.get(plugin, ()):
                self.report.notes.append(f"{named(str(folder))} stays: a plugin that is switched off does not load")

    def _effects(self) -> None:
        """What of the moved settings does not do what it says."""
        report = self.report
        for steps, value in NOT_ON if report.touched else ():
            if configvars.filled(self.draft.tree.get(*steps)) == value:
                name = report.origin(steps[len(OURS) :]) if steps[: len(OURS)] == OURS else ""
                text = f"{name or path_name(steps)} = {json.dumps(value)}: toolguard guards nothing until that is changed"
                report.warnings.append(text)

    def _look_for_calls(self, migration: Migration) -> None:
        self.calls, problems = calls.found(self.draft.before, self.places, migration)
        self.report.warnings += problems

    def _look_for_metrics(self, migration: Migration) -> None:
        known = journal.imported(self.places)
        found, problems = metrics.found(self.draft.before, self.draft.tree, self.places, migration, known)
        self.databases = found
        self.report.warnings += problems


_KEEPERS: dict[str, Callable[[Plan, Migration], None]] = {
    "calls": Plan._look_for_calls,  # noqa: SLF001 - the table of this class
    "metrics": Plan._look_for_metrics,  # noqa: SLF001
}


@dataclass(frozen=True)
class Done:
    """What came of it. `problems`: imports that failed; a further run takes them up."""

    number: int
    backups: list[Path]
    imported: list[Imported]
    problems: list[str]


def perform(plan: Plan, tell: Tell) -> Done:
    """All or nothing, but for metrics, which only add. Raises `UserError`, `OSError`; then everything is as before."""
    places, changes = plan.places, plan.draft.changes()
    begun = _journal(plan)
    journal.begin(places, begun, changes)
    try:
        journal.put_aside(begun)
        again = any(backup_path(change.file.path.resolve()).exists() for change in changes)
        backups = plan.draft.write(again=again)
    except (UserError, OSError):
        journal.restore(places, begun)
        raise
    imported, taken, problems = _import(plan, begun, tell)
    journal.save(places, msgspec.structs.replace(begun, status="done", imports=taken))
    return Done(begun.number, backups, imported, problems)


def _journal(plan: Plan) -> Journal:
    number = journal.next_number(plan.places)
    aside = journal.aside(plan.places, number)
    return Journal(
        number=number,
        version=__version__,
        time=datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        status="begun",
        config=str(plan.draft.before.path),
        files=[
            KeptFile(str(change.file.path), digest(change.file.data), digest(change.data)) for change in plan.draft.changes()
        ],
        moves=[
            KeptMove(str(each.path), str(aside / f"{at}-{each.path.name}"), digest(each.path.read_bytes()))
            for at, each in enumerate(plan.calls)
        ],
        imports=[KeptImport(str(each.path), str(each.into), each.last) for each in plan.databases],
    )


def _import(plan: Plan, begun: Journal, tell: Tell) -> tuple[list[Imported], list[KeptImport], list[str]]:
    imported, taken, problems = [], [], []
    for database, kept in zip(plan.databases, begun.imports, strict=True):
        try:
            imported.append(
                importing.run(database.path, database.into, lambda done, whole: tell("importing metrics", done, whole))
            )
            taken.append(kept)
        except MetricsError as error:
            problems.append(f"the old metrics were not taken over: {error}")
            taken.append(msgspec.structs.replace(kept, last=-1))
    return imported, taken, problems


def take_back(places: Places, which: Journal) -> tuple[list[str], int]:
    """What was put back, and how many imported rows were removed. Whoever calls has seen what was changed since.

    Raises `UserError`; a further run goes on.
    """
    removed = 0
    for into in dict.fromkeys(each.into for each in which.imports):
        try:
            removed += importing.undo(Path(into))
        except MetricsError as error:
            raise UserError(f"what was imported cannot be removed: {error}", "mend that, then repeat") from error
    return journal.restore(places, which), removed
