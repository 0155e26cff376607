"""`toolguard migrate`: takes over from the plugins that toolguard replaces, and can take that back."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from toolguard_cli import asking, configtree, inside, weakenings
from toolguard_cli.configtree import ConfigTree
from toolguard_cli.errors import UserError
from toolguard_cli.json5_edit import path_name
from toolguard_cli.migrations import data, journal, plan, verdict
from toolguard_cli.migrations.journal import Journal
from toolguard_cli.migrations.plan import Done, Plan
from toolguard_cli.migrations.report import printable
from toolguard_cli.paths import Places
from toolguard_cli.progress import told
from toolguard_cli.result import Line, Result
from toolguard_cli.setup import record
from toolguard_cli.setup.lock import locked
from toolguard_cli.validation import hostcheck

COMMAND = "migrate"
MAX_LEFT = 50
MAX_DIFF = 400


def run(
    places: Places,
    *,
    source: str = data.AUTO,
    dry_run: bool = False,
    yes: bool = False,
    as_json: bool = False,
    openclaw: Sequence[str] | None = None,
) -> Result:
    """Raises `UserError`; then nothing was changed. `openclaw`: what runs it; by default what is on PATH."""
    inside.refuse(places, COMMAND, loosens=not dry_run)
    chosen = data.chosen(source)
    interrupted = journal.unfinished(places)
    if interrupted and not dry_run:
        _finish(places)
    planned = Plan(places, _tree(places, interrupted if dry_run else None), chosen)
    if not planned.changes:
        return _nothing(planned)
    if planned.draft.changes():
        command = hostcheck.command() if openclaw is None else openclaw
        verdict.weigh(planned.draft.before, planned.draft.tree, places, command, planned.report)
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
    """Why nothing is done; empty where the person agreed. Raises `UserError`, but not to a script: that gets the plan."""
    try:
        agreed = asking.confirm(shown, "Migrate?", as_json=as_json, what="the changes")
    except UserError as error:
        if not as_json:
            raise
        return Line("error", error.message), Line("info", f"-> {error.fix}")
    return () if agreed else (Line("info", "nothing was changed"),)


def _finish(places: Places) -> None:
    """A run that was interrupted is taken back, so that this one does all of it. Raises `UserError`."""
    with locked(places):
        if interrupted := journal.unfinished(places):
            fix = f"see what that is, or: {_command(places, 'migrate', '--undo', '--yes')}"
            journal.refuse_changed(places, interrupted, fix)
            plan.take_back(places, interrupted)


def _performed(planned: Plan, chosen: Sequence[data.Migration]) -> Done:
    """What was shown is what is done."""
    places = planned.places
    with locked(places):
        fresh = Plan(places, configtree.read(places.config), chosen)
        if fresh.fingerprint != planned.fingerprint:
            raise UserError("the config was changed by somebody else just now", "nothing was migrated; repeat the command")
        with told() as tell:
            done = plan.perform(fresh, tell)
        weakenings.take(places, weakenings.since(fresh.draft.before, places), "cli")
        return done


def _tree(places: Places, interrupted: Journal | None) -> ConfigTree:
    """The config as it is, or as it was before a run that did not end: that is taken back first."""
    return configtree.read(places.config, journal.before(places, interrupted) if interrupted else None)


def undo(places: Places, *, yes: bool, dry_run: bool) -> Result:
    """Takes the last migration back. `yes`: whatever was changed since. Raises `UserError`; then nothing was changed."""
    inside.refuse(places, COMMAND, loosens=not dry_run)
    which = _last(places)
    if which is None:
        return Result(COMMAND, {"changed": False}, (Line("ok", "no migration to take back"),))
    fix = f"take that out, or: {_command(places, 'migrate', '--undo', '--yes')} (the present file is kept beside)"
    if not yes:
        journal.refuse_changed(places, which, fix)
    about = f"the migration of {which.time}"
    public = {"changed": True, "dryRun": dry_run, "migration": which.number, "files": [file.path for file in which.files]}
    if dry_run:
        lines = [Line("ok", f"would put back {file.path}, as it was before {about}") for file in which.files]
        lines += [Line("ok", f"would put back {move.source}") for move in which.moves]
        lines += [Line("ok", f"would remove from {one.into} what was imported") for one in which.imports]
        return Result(COMMAND, public, _harmless([*lines, Line("info", "nothing was written (--dry-run)")]))
    with locked(places):
        if not yes:
            journal.refuse_changed(places, which, fix)
        before = weakenings.read(places)
        restored, removed = plan.take_back(places, which)
        weakenings.take(places, weakenings.since(before, places), "cli")
    lines = [Line("ok", f"took back {about}"), *(Line("info", text) for text in restored)]
    lines += [Line("info", f"removed {removed} imported rows of metrics")] if removed else []
    lines.append(Line("next", "restart the gateway"))
    return Result(COMMAND, {**public, "restored": restored, "rowsRemoved": removed}, _harmless(lines))


def _last(places: Places) -> Journal | None:
    return next((each for each in reversed(journal.journals(places)) if each.status != "undone"), None)


def _nothing(planned: Plan) -> Result:
    lines = [Line("ok", f"nothing to migrate in {planned.draft.before.path}")]
    lines += [Line("info", f"stays where it is: {left.words}") for left in planned.report.left[:MAX_LEFT]]
    lines += [Line("warn", text) for text in planned.report.warnings]
    return Result(COMMAND, _data(planned, None, None), _harmless(lines))


def _harmless(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Names of files and settings come from elsewhere, and are shown to a person who decides."""
    return tuple(Line(line.kind, printable(line.text)) for line in lines)


def _lines(planned: Plan, interrupted: Journal | None) -> Iterator[Line]:
    """What is done, in words that are true before and after."""
    report = planned.report
    if interrupted:
        yield Line(
            "warn", f"the migration of {interrupted.time} was interrupted; what it did is taken back, and done again here"
        )
    if report.touched:
        yield Line("info", f"found in {planned.draft.before.path}: {', '.join(report.touched)}")
    yield from (Line("ok", moved.words) for moved in report.moved)
    yield from (Line("ok", text) for text in report.changed)
    yield from (Line("warn", f"not taken over: {left.words}") for left in report.left[:MAX_LEFT])
    if len(report.left) > MAX_LEFT:
        yield Line("warn", f"... and {len(report.left) - MAX_LEFT} more that are not taken over")
    for old in planned.calls:
        yield Line("ok", f"{old.path} is put aside: its approvals fit any call, so none is taken over")
        if old.waiting:
            yield Line("warn", f"calls that have to be asked again: {old.waiting}")
    for database in planned.databases:
        yield Line("ok", f"metrics of {database.path} are imported into {database.into}: {database.events} calls")
    yield from (Line("warn", text) for text in report.warnings)
    yield from (Line("info", text) for text in report.notes)


def _diff(planned: Plan) -> Iterator[Line]:
    lines = list(islice(planned.draft.diff(), MAX_DIFF + 1))
    yield from (Line("info", line) for line in lines[:MAX_DIFF])
    if len(lines) > MAX_DIFF:
        yield Line("info", "... and more")


def _after(planned: Plan, done: Done) -> Iterator[Line]:
    places = planned.places
    touched = ", ".join(dict.fromkeys(planned.report.touched)) or "what the old plugins kept"
    yield Line("ok", f"migrated {touched}; settings taken over: {len(planned.report.moved)}")
    for one in done.imported:
        yield Line("ok", f"imported {one.events} calls, {one.hours} hours and {one.days} days of metrics")
        if one.skipped:
            yield Line("warn", f"rows of the old metrics that make no sense: {one.skipped}")
    yield from (Line("warn", text) for text in done.problems)
    yield from (Line("info", f"the file as it was: {backup}") for backup in done.backups)
    if record.load(places.record) is None:
        yield Line("next", _command(places, "install"))
    yield Line("next", f"restart the gateway, then: {_command(places, 'doctor')}")
    yield Line("next", f"{_command(places, 'migrate', '--undo')} puts everything back")


def _command(places: Places, *words: str) -> str:
    return shlex.join(["toolguard", *words, *places.given])


def _data(planned: Plan, interrupted: Journal | None, done: Done | None) -> dict[str, Any]:
    report = planned.report
    return {
        "changed": planned.changes,
        "done": done is not None,
        "config": str(planned.draft.before.path),
        "interrupted": interrupted.number if interrupted else None,
        "found": report.touched,
        "moved": [{"from": each.source, "to": path_name(each.target), "value": each.value} for each in report.moved],
        "notMoved": [{"from": each.source, "reason": each.reason} for each in report.left],
        "changes": report.changed,
        "putAside": [{"path": str(each.path), "waiting": each.waiting} for each in planned.calls],
        "metrics": [{"from": str(each.path), "to": str(each.into), "events": each.events} for each in planned.databases],
        "warnings": [*report.warnings, *(done.problems if done else [])],
        "diff": [line.text for line in _harmless(_diff(planned))],
        "migration": done.number if done else None,
        "backups": [str(path) for path in done.backups] if done else [],
    }
