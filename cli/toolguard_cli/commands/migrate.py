"""`toolguard migrate`: takes over from the plugins that toolguard replaces, and can undo it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any

import typer

from toolguard_cli.commands.command_options import DryRun, command, command_app
from toolguard_cli.hostconfig import config_tree, openclaw_check
from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.hostconfig.json5_edit import path_name
from toolguard_cli.migrations import journal, old_plugins, plan, start_check
from toolguard_cli.migrations.journal import Journal
from toolguard_cli.migrations.plan import MigrationResult, Plan
from toolguard_cli.migrations.report import safe_line
from toolguard_cli.operations import reload_note
from toolguard_cli.person import require_human
from toolguard_cli.policy import accepted_view
from toolguard_cli.setup import install_record
from toolguard_cli.setup.config_lock import locked
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm as asking
from toolguard_cli.terminal import progress
from toolguard_cli.terminal.result import Line, Result

COMMAND = "migrate"
MAX_LEFT = 50
MAX_DIFF = 400

app = command_app()


@command(
    app,
    "toolguard migrate --dry-run",
    "toolguard migrate",
    "toolguard migrate --from guardian-angel",
    "toolguard migrate --undo",
)
def migrate(
    places: Places,
    *,
    source: Annotated[
        str,
        typer.Option("--from", metavar="ID", help="What to migrate from, for example tool-guard or host-loop-detection."),
    ] = "auto",
    dry_run: DryRun = False,
    undo: Annotated[bool, typer.Option("--undo", help="Restore everything to its state before the last migration.")] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "-y", "--yes", help="Do not ask for confirmation; with --undo, proceed even if files have changed since."
        ),
    ] = False,
    as_json: bool = False,
) -> Result:
    """Migrate from the plugins that toolguard replaces.

    Finds tool-guard, guardian-angel, equilibrium-guard, and loop-detection settings that the gateway no longer accepts.
    Shows the plan and asks for confirmation, then moves their settings along with their comments, disables the old
    entries, moves old held calls aside and imports old metrics. Running it again changes nothing.
    """
    if undo:
        if source != "auto":
            raise typer.BadParameter("the last migration can only be undone as a whole", param_hint="--from")
        return undo_last(places, yes=yes, dry_run=dry_run)
    return run(places, source=source, dry_run=dry_run, yes=yes, as_json=as_json)


def run(
    places: Places,
    *,
    source: str = old_plugins.AUTO,
    dry_run: bool = False,
    yes: bool = False,
    as_json: bool = False,
    openclaw: Sequence[str] | None = None,
) -> Result:
    """Raises `UserError`; then nothing was changed. `openclaw`: runs OpenClaw; by default the one on PATH."""
    require_human.refuse(places, COMMAND, loosens=not dry_run)
    chosen = old_plugins.chosen(source)
    interrupted = journal.unfinished(places)
    if interrupted and not dry_run:
        _finish(places)
    planned = Plan(places, _tree(places, interrupted if dry_run else None), chosen)
    if not planned.changes:
        return _nothing(planned)
    if planned.draft.changes():
        command = openclaw_check.command() if openclaw is None else openclaw
        start_check.weigh(planned.draft.before, planned.draft.tree, places, command, planned.report)
    if dry_run:
        lines = [*_lines(planned, interrupted), *_diff(planned), Line("info", "nothing was written (--dry-run)")]
        return Result(COMMAND, _data(planned, interrupted, None), _harmless(lines))
    shown = [line.text for line in _harmless((*_lines(planned, interrupted), *_diff(planned)))]
    if refused := () if yes else _refused(shown, as_json=as_json):
        return Result(COMMAND, _data(planned, interrupted, None), refused, 1)
    done = _performed(planned, chosen)
    lines = [*(_lines(planned, interrupted) if yes else []), *_after(planned, done)]
    return Result(COMMAND, _data(planned, interrupted, done), _harmless(lines))


def _refused(shown: Sequence[str], *, as_json: bool) -> tuple[Line, ...]:
    """Why nothing is done; empty if the user agreed. Raises `UserError`, except with `--json`, which prints the plan."""
    try:
        agreed = asking.confirm(shown, "Migrate?", as_json=as_json, what="the changes")
    except UserError as error:
        if not as_json:
            raise
        return Line("error", error.message), Line("info", f"-> {error.fix}")
    return () if agreed else (Line("info", "nothing was changed"),)


def _finish(places: Places) -> None:
    """Undoes an interrupted run, so that this one does all of it. Raises `UserError`."""
    with locked(places):
        if interrupted := journal.unfinished(places):
            fix = f"check what was changed, or run: {_command(places, 'migrate', '--undo', '--yes')}"
            journal.refuse_changed(places, interrupted, fix)
            plan.take_back(places, interrupted)


def _performed(planned: Plan, chosen: Sequence[old_plugins.Migration]) -> MigrationResult:
    """Raises `UserError` if the plan differs from the one that was shown."""
    places = planned.places
    with locked(places):
        fresh = Plan(places, config_tree.read(places.config), chosen)
        if fresh.fingerprint != planned.fingerprint:
            raise UserError("the config was changed in the meantime", "nothing was migrated; repeat the command")
        with progress.reporting() as report:
            done = plan.perform(fresh, report)
        accepted_view.take(places, accepted_view.since(fresh.draft.before, places), "cli")
        return done


def _tree(places: Places, interrupted: Journal | None) -> ConfigTree:
    """The config, or what it was before an interrupted run, which is undone first."""
    return config_tree.read(places.config, journal.before(places, interrupted) if interrupted else None)


def undo_last(places: Places, *, yes: bool, dry_run: bool) -> Result:
    """Undoes the last migration. `yes`: even if files were changed since. Raises `UserError`; then nothing was changed."""
    require_human.refuse(places, COMMAND, loosens=not dry_run)
    which = _last(places)
    if which is None:
        return Result(COMMAND, {"changed": False}, (Line("ok", "no migration to undo"),))
    fix = f"undo that change, or run: {_command(places, 'migrate', '--undo', '--yes')} (the current file is backed up)"
    if not yes:
        journal.refuse_changed(places, which, fix)
    about = f"the migration of {which.time}"
    public = {
        "changed": True,
        "dryRun": dry_run,
        "migration": which.number,
        "files": [file.path for file in (*which.files, *which.rewritten)],
    }
    if dry_run:
        lines = [
            Line("ok", f"would restore {file.path} to what it was before {about}")
            for file in (*which.files, *which.rewritten)
        ]
        lines += [Line("ok", f"would restore {move.source}") for move in which.moves]
        lines += [Line("ok", f"would remove from {one.into} what was imported") for one in which.imports]
        return Result(COMMAND, public, _harmless([*lines, Line("info", "nothing was written (--dry-run)")]))
    with locked(places):
        if not yes:
            journal.refuse_changed(places, which, fix)
        before = accepted_view.read(places)
        restored, removed = plan.take_back(places, which)
        accepted_view.take(places, accepted_view.since(before, places), "cli")
    lines = [Line("ok", f"undid {about}"), *(Line("info", text) for text in restored)]
    lines += [Line("info", f"removed {removed} imported metrics rows")] if removed else []
    lines.append(Line("next", reload_note.after_change(config_tree.read(places.config))))
    return Result(COMMAND, {**public, "restored": restored, "rowsRemoved": removed}, _harmless(lines))


def _last(places: Places) -> Journal | None:
    return next((other for other in reversed(journal.journals(places)) if other.status != "undone"), None)


def _nothing(planned: Plan) -> Result:
    lines = [Line("ok", f"nothing to migrate in {planned.draft.before.path}")]
    lines += [Line("info", f"not moved: {left.words}") for left in planned.report.left[:MAX_LEFT]]
    lines += [Line("warn", text) for text in planned.report.warnings]
    return Result(COMMAND, _data(planned, None, None), _harmless(lines))


def _harmless(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Escapes names of files and settings, which come from untrusted sources."""
    return tuple(Line(line.kind, safe_line(line.text)) for line in lines)


def _lines(planned: Plan, interrupted: Journal | None) -> Iterator[Line]:
    """The plan, in words that are true before and after it is carried out."""
    report = planned.report
    if interrupted:
        yield Line("warn", f"the migration of {interrupted.time} was interrupted; its changes are undone and made again")
    if report.touched:
        yield Line("info", f"found in {planned.draft.before.path}: {', '.join(report.touched)}")
    yield from (Line("ok", moved.words) for moved in report.moved)
    yield from (Line("ok", text) for text in report.changed)
    yield from (Line("warn", f"not migrated: {left.words}") for left in report.left[:MAX_LEFT])
    if len(report.left) > MAX_LEFT:
        yield Line("warn", f"... and {len(report.left) - MAX_LEFT} more that are not migrated")
    for old in planned.calls:
        yield Line("ok", f"{old.path} is moved aside; its approvals are not tied to one call, so none is migrated")
        if old.waiting:
            yield Line("warn", f"calls that must be approved again: {old.waiting}")
    for database in planned.databases:
        yield Line("ok", f"metrics of {database.path} are imported into {database.into}: {database.events} calls")
    yield from (Line("warn", text) for text in report.warnings)
    yield from (Line("info", text) for text in report.notes)


def _diff(planned: Plan) -> Iterator[Line]:
    lines = list(islice(planned.draft.diff(), MAX_DIFF + 1))
    yield from (Line("info", line) for line in lines[:MAX_DIFF])
    if len(lines) > MAX_DIFF:
        yield Line("info", "... and more")


def _after(planned: Plan, done: MigrationResult) -> Iterator[Line]:
    places = planned.places
    names = [*planned.report.touched, *([planned.policy.path.name] if planned.policy else [])]
    touched = ", ".join(dict.fromkeys(names)) or "what the old plugins kept"
    yield Line("ok", f"migrated {touched}; settings migrated: {len(planned.report.moved)}")
    for one in done.imported:
        yield Line("ok", f"imported {one.events} calls, {one.hours} hours and {one.days} days of metrics")
        if one.skipped:
            yield Line("warn", f"invalid rows of the old metrics that were skipped: {one.skipped}")
    yield from (Line("warn", text) for text in done.problems)
    yield from (Line("info", f"backup of the file: {backup}") for backup in done.backups)
    if install_record.load(places.record) is None:
        yield Line("next", _command(places, "install"))
    if planned.needs_restart:
        yield Line("next", reload_note.after_change(planned.draft.tree))
    yield Line("next", _command(places, "doctor"))
    yield Line("next", f"{_command(places, 'migrate', '--undo')} restores everything")


def _command(places: Places, *words: str) -> str:
    return shlex.join(["toolguard", *words, *places.given])


def _data(planned: Plan, interrupted: Journal | None, done: MigrationResult | None) -> dict[str, Any]:
    report = planned.report
    return {
        "changed": planned.changes,
        "done": done is not None,
        "config": str(planned.draft.before.path),
        "interrupted": interrupted.number if interrupted else None,
        "found": report.touched,
        "moved": [{"from": moved.source, "to": path_name(moved.target), "value": moved.value} for moved in report.moved],
        "notMoved": [{"from": left.source, "reason": left.reason} for left in report.left],
        "changes": report.changed,
        "putAside": [{"path": str(calls.path), "waiting": calls.waiting} for calls in planned.calls],
        "metrics": [
            {"from": str(database.path), "to": str(database.into), "events": database.events}
            for database in planned.databases
        ],
        "warnings": [*report.warnings, *(done.problems if done else [])],
        "diff": [line.text for line in _harmless(_diff(planned))],
        "migration": done.number if done else None,
        "backups": [str(path) for path in done.backups] if done else [],
    }
