"""Plans a migration before anything is changed, then performs it so that it can be undone at any point."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from toolguard_cli.hostconfig import env_vars
from toolguard_cli.hostconfig.config_file import backup_path, digest
from toolguard_cli.hostconfig.config_tree import ConfigTree, Steps
from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.hostconfig.json5_edit import path_name
from toolguard_cli.migrations import entries, former_tables, hostloops, journal, old_folders, old_held_calls, old_metrics
from toolguard_cli.migrations.journal import Journal, KeptFile, KeptImport, KeptMove
from toolguard_cli.migrations.moving import OURS
from toolguard_cli.migrations.old_held_calls import OldCalls
from toolguard_cli.migrations.old_metrics import OldDatabase
from toolguard_cli.migrations.old_plugins import Migration
from toolguard_cli.migrations.report import MigrationReport, named
from toolguard_cli.migrations.work import Work, is_on, names
from toolguard_cli.setup.plugin_entry import ALLOW, DENY, ENABLED
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import PLUGIN_ID, Places
from toolguard_cli.terminal.progress import Report
from toolguard_engine import __version__
from toolguard_engine.metrics import importing
from toolguard_engine.metrics.database import MetricsError
from toolguard_engine.metrics.importing import Imported
from toolguard_engine.stores import atomic

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
"""Values with which nothing is guarded although the old plugins are off."""


class Plan:
    """`report`: the changes of `draft`, `calls` and `databases` in words. Raises `UserError`."""

    def __init__(self, places: Places, tree: ConfigTree, migrations: Sequence[Migration]) -> None:
        self.places = places
        self.draft = Draft(tree)
        self.report = MigrationReport()
        self.calls: list[OldCalls] = []
        self.databases: list[OldDatabase] = []
        self._ids = [plugin for old in migrations for plugin in old.ids]
        self._lying = old_folders.plugins(tree, places, self._ids)
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
        self.policy, problem = former_tables.find(places)
        self.report.changed += [self.policy.words] if self.policy else []
        self.report.warnings += [problem] if problem else []

    @property
    def changes(self) -> bool:
        return self.needs_restart or self.policy is not None

    @property
    def needs_restart(self) -> bool:
        return bool(self.draft.changes() or self.calls or self.databases)

    @property
    def fingerprint(self) -> object:
        return (
            [(change.file.path, change.file.data, change.text) for change in self.draft.changes()],
            [calls.path for calls in self.calls],
            [database.path for database in self.databases],
            self.policy,
        )

    def _lists(self) -> None:
        """Updates lists that name migrated plugins, and reports other settings that do."""
        tree, touched = self.draft.tree, [plugin for plugin in self._ids if plugin in self.report.touched]
        if any(names(tree, ALLOW, plugin) for plugin in touched) and not names(tree, ALLOW, PLUGIN_ID):
            self.draft.append(ALLOW, PLUGIN_ID)
            self.report.changed.append(f'plugins.allow names "{PLUGIN_ID}" too')
        if touched and names(tree, DENY, PLUGIN_ID):
            self.report.warnings.append(f'plugins.deny names "{PLUGIN_ID}": remove it, or the guard is not loaded')
        slots = tree.get("plugins", "slots")
        for slot, plugin in slots.items() if isinstance(slots, dict) else ():
            if plugin in self._ids:
                self.report.warnings.append(
                    f"{named(path_name(('plugins', 'slots', slot)))} names {plugin}: choose another plugin for it"
                )
        for plugin in touched:
            for folder in self._lying.get(plugin, ()):
                self.report.notes.append(f"{named(str(folder))} stays: a plugin that is switched off is not loaded")

    def _effects(self) -> None:
        """Warns of settings that leave the guard off."""
        report = self.report
        for steps, value in NOT_ON if report.touched else ():
            if env_vars.filled(self.draft.tree.get(*steps)) == value:
                name = report.origin(steps[len(OURS) :]) if steps[: len(OURS)] == OURS else ""
                text = f"{name or path_name(steps)} = {json.dumps(value)}: toolguard guards nothing until that is changed"
                report.warnings.append(text)

    def _look_for_calls(self, migration: Migration) -> None:
        self.calls, problems = old_held_calls.find(self.draft.before, self.places, migration)
        self.report.warnings += problems

    def _look_for_metrics(self, migration: Migration) -> None:
        known = journal.imported(self.places)
        databases, problems = old_metrics.find(self.draft.before, self.draft.tree, self.places, migration, known)
        self.databases = databases
        self.report.warnings += problems


_KEEPERS: dict[str, Callable[[Plan, Migration], None]] = {
    "calls": Plan._look_for_calls,  # noqa: SLF001 - the table of this class
    "metrics": Plan._look_for_metrics,  # noqa: SLF001
}


@dataclass(frozen=True)
class MigrationResult:
    """The result of a migration. `problems`: imports that failed; the next run tries them again."""

    number: int
    backups: list[Path]
    imported: list[Imported]
    problems: list[str]


def perform(plan: Plan, tell: Report) -> MigrationResult:
    """Performs all of it or, on `UserError` or `OSError`, nothing. Only imports of metrics may fail separately."""
    places, changes = plan.places, plan.draft.changes()
    begun = _journal(plan)
    journal.begin(places, begun, changes, [plan.policy.before] if plan.policy else [])
    try:
        journal.put_aside(begun)
        again = any(backup_path(change.file.path.resolve()).exists() for change in changes)
        backups = [former_tables.write(plan.policy)] if plan.policy else []
        backups += plan.draft.write(again=again)
    except (UserError, OSError):
        journal.restore(places, begun)
        raise
    imported, taken, problems = _import(plan, begun, tell)
    journal.save(places, msgspec.structs.replace(begun, status="done", imports=taken))
    return MigrationResult(begun.number, backups, imported, problems)


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
            KeptMove(str(calls.path), str(aside / f"{at}-{calls.path.name}"), digest(_content(calls)))
            for at, calls in enumerate(plan.calls)
        ],
        imports=[KeptImport(str(database.path), str(database.into), database.last) for database in plan.databases],
        rewritten=[
            KeptFile(str(rewrite.path), digest(rewrite.before), digest(rewrite.after))
            for rewrite in (plan.policy,)
            if rewrite is not None
        ],
    )


def _content(calls: OldCalls) -> bytes:
    return atomic.read_bounded(calls.path, old_held_calls.MAX_BYTES)


def _import(plan: Plan, begun: Journal, tell: Report) -> tuple[list[Imported], list[KeptImport], list[str]]:
    imported, taken, problems = [], [], []
    for database, kept in zip(plan.databases, begun.imports, strict=True):
        try:
            imported.append(
                importing.run(database.path, database.into, lambda done, whole: tell("importing metrics", done, whole))
            )
            taken.append(kept)
        except MetricsError as error:
            problems.append(f"the old metrics were not imported: {error}")
            taken.append(msgspec.structs.replace(kept, last=-1))
    return imported, taken, problems


def take_back(places: Places, which: Journal) -> tuple[list[str], int]:
    """Undoes a migration; returns the restored files and the number of removed rows. Does not check for later changes.

    Raises `UserError`; another run continues.
    """
    removed = 0
    for into in dict.fromkeys(kept.into for kept in which.imports):
        try:
            removed += importing.undo(Path(into))
        except MetricsError as error:
            raise UserError(f"the imported rows cannot be removed: {error}", "fix that, then try again") from error
    return journal.restore(places, which), removed
