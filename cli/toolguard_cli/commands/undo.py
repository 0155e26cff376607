"""`toolguard undo`: lists what calls changed or removed, and brings it back."""

from __future__ import annotations

import time
from collections import Counter
from typing import Annotated, Any

import msgspec
import typer

from toolguard_cli.commands.command_options import Yes, command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.person import require_human
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm, tables
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.stores.undo import undo_restoring
from toolguard_engine.stores.undo.undo_entry import UndoEntry
from toolguard_engine.stores.undo.undo_folder import UndoFolder
from toolguard_engine.stores.undo.undo_restoring import Restored, RestoreStep
from toolguard_engine.wording import printable

HEAD = ("ID", "AGE", "FILES", "TOOL", "AGENT", "CALL")
MOST_LISTED, MOST_SHOWN = 20, 30
SHORTEST = 4
_WORDS = {
    "create": "bring back",
    "replace": "replace what is there now",
    "remove": "remove",
    "move-back": "move back",
    "impossible": "cannot be restored",
}
_COUNTED = {
    "create": "path* to bring back",
    "replace": "path* to replace",
    "remove": "path* to remove",
    "move-back": "path* to move back",
    "unchanged": "path* unchanged",
    "impossible": "path* that cannot be restored",
}

app = command_app()


@command(app, "toolguard undo", "toolguard undo 3fa9c1", "toolguard undo 3fa9c1 --dry-run --json")
def run(
    places: Places,
    call: Annotated[
        str,
        typer.Argument(
            metavar="[ID]",
            help="What toolguard undo lists, or its first 4 characters or more; or the nonce or the gateway's id of a call.",
            show_default=False,
        ),
    ] = "",
    *,
    everything: Annotated[bool, typer.Option("--all", help="List everything that is kept.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be restored; change nothing.")] = False,
    yes: Yes = False,
    as_json: bool = False,
) -> Result:
    """List what calls changed or removed, or bring it back.

    Before a call changes files in your home folder or a workspace, toolguard keeps what is there, for 7 days and up to 2 GB
    by default (undo.days, undo.maxMegabytes). With an id, the files are listed and restored after you confirm. What is there
    now is kept as well, so a restore can be undone in the same way.
    """
    folder = _folder(places)
    try:
        entries = folder.entries()
    except OSError as error:
        raise UserError(f"what is kept cannot be read: {error}", f"check {folder.path}") from error
    if not call:
        return Result("undo", {"entries": [_public(listed) for listed in entries]}, tuple(_listed(entries, everything)))
    entry = _found(entries, call)
    steps = undo_restoring.plan(entry)
    lines = _planned(entry, steps)
    if dry_run or not any(step.step not in ("unchanged", "impossible") for step in steps):
        return Result("undo", _data(entry, steps), tuple(Line("info", line) for line in lines))
    caller = require_human.caller(places, "undo")
    agreed = (yes and not caller.doubt) or (
        caller.confirm(lines)
        if caller.doubt
        else confirm.confirm(lines, "Restore this?", as_json=as_json, what="what would be restored")
    )
    if not agreed:
        return Result("undo", _data(entry, steps), (Line("info", "nothing was changed"),), 1)
    return _restored(places, folder, entry)


def _folder(places: Places) -> UndoFolder:
    return UndoFolder(places.state_dir)


def _found(entries: list[UndoEntry], call: str) -> UndoEntry:
    """Raises `UserError`."""
    matching = [entry for entry in entries if call in (entry.id, entry.cause.nonce)][:1]
    matching = matching or [entry for entry in entries if entry.cause.call == call]
    if not matching and len(call) >= SHORTEST:
        matching = [entry for entry in entries if entry.id.startswith(call)]
    if len(matching) == 1:
        return matching[0]
    shown = printable.plain(call)
    if matching:
        which = ", ".join(entry.id for entry in matching[:MOST_LISTED])
        raise UserError(f"{shown} means several entries: {which}", "give more of the id")
    raise UserError(f"nothing is kept under {shown}", "toolguard undo lists what can be restored")


def _listed(entries: list[UndoEntry], everything: bool) -> list[Line]:
    if not entries:
        return [Line("info", "nothing is kept: no call has changed files of yours since this gateway has run with undo")]
    shown = entries if everything else entries[:MOST_LISTED]
    lines = tables.table(HEAD, (_row(entry) for entry in shown))
    if len(entries) > len(shown):
        lines.append(
            Line("info", f"{printable.counted(len(entries) - len(shown), 'older one')}; toolguard undo --all lists them")
        )
    return [*lines, Line("next", f"toolguard undo {entries[0].id} shows what would be restored, and asks")]


def _row(entry: UndoEntry) -> tuple[str, ...]:
    age = printable.duration(time.time() - entry.cause.at)
    files = sum(path.was != "folder" for path in entry.paths)
    return entry.id, age, str(files), entry.cause.tool, entry.cause.agent, _cause(entry)


def _cause(entry: UndoEntry) -> str:
    return printable.plain(entry.cause.shown) if not entry.cause.restores else f"restore of {entry.cause.restores}"


def _planned(entry: UndoEntry, steps: list[RestoreStep]) -> list[str]:
    counts = Counter(step.step for step in steps)
    parts = [printable.counted(number, _COUNTED[step]) for step, number in counts.items()]
    changed = [step for step in steps if step.step != "unchanged"]
    lines = [_cause(entry), f"{printable.moment(entry.cause.at)}: {', '.join(parts)}"]
    lines += [f"  {_WORDS[step.step]}: {printable.plain(step.path)}{_why(step)}" for step in changed[:MOST_SHOWN]]
    lines += [f"  and {len(changed) - MOST_SHOWN} more"] if len(changed) > MOST_SHOWN else []
    return [*lines, *(f"  not kept: {printable.plain(path)}" for path in entry.left_out)]


def _why(step: RestoreStep) -> str:
    return f" ({printable.plain(step.why)})" if step.why else ""


def _restored(places: Places, folder: UndoFolder, entry: UndoEntry) -> Result:
    try:
        done = undo_restoring.restore(folder, entry, time.time())
    except OSError as error:
        raise UserError(
            f"nothing was changed: {error.strerror or error}", f"see toolguard undo {entry.id} --dry-run"
        ) from error
    kept = f"; toolguard undo {done.undo} undoes this" if done.undo else ""
    lines = [Line("ok", f"{done.done} of {done.done + len(done.failed)} restored{kept}")] if done.done else []
    lines += [Line("error", f"{printable.plain(step.path)}: {printable.plain(step.why)}") for step in done.failed]
    reason = f"{entry.id}: {printable.counted(done.done, 'path')} restored, {len(done.failed)} not"
    event = gateway_stores.event("undo", code="undo.restored", reason=reason, shown=_cause(entry))
    lines += [Line("warn", warning) for warning in gateway_stores.logged(places, event)]
    return Result("undo", _result(entry, done), tuple(lines), 1 if done.failed else 0)


def _public(entry: UndoEntry) -> dict[str, Any]:
    return {"id": entry.id, **msgspec.to_builtins(entry.cause), "paths": [path.path for path in entry.paths]}


def _data(entry: UndoEntry, steps: list[RestoreStep]) -> dict[str, Any]:
    return {"id": entry.id, "steps": msgspec.to_builtins(steps), "leftOut": list(entry.left_out)}


def _result(entry: UndoEntry, done: Restored) -> dict[str, Any]:
    return {"id": entry.id, "restored": done.done, "failed": msgspec.to_builtins(done.failed), "undo": done.undo}
