"""`toolguard state import`: brings back the state from an archive."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from toolguard_cli.commands.command_options import DryRun, Yes, command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import import_state, reload_note, state_archive
from toolguard_cli.operations.import_state import ImportPlan
from toolguard_cli.operations.state_archive import Archive
from toolguard_cli.person import require_human
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm as asking
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.stores import state_files
from toolguard_engine.wording import printable

COMMAND = "state import"

app = command_app()


@command(
    app,
    "toolguard state import /mnt/usb/monday.toolguard-state --dry-run",
    "toolguard state import /mnt/usb/monday.toolguard-state",
)
def run(
    places: Places,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file that toolguard state export wrote.", show_default=False)
    ],
    *,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: bool = False,
) -> Result:
    """Bring back the state from a file of state export.

    Stop the gateway first. Where the state was signed with the same key, your rules, grants and accepted settings come
    back; the audit log, budgets, expired grants and kill switch of now stay. Elsewhere the whole state is put in place,
    and what was there is kept in the folder exports.
    """
    require_human.refuse(places, COMMAND, loosens=not dry_run)
    archive = state_archive.read(file.expanduser())
    planned = import_state.plan(places.state_dir, archive)
    texts = _texts(archive, planned)
    data = _data(archive, planned, dry_run=dry_run)
    if not planned.written and not planned.put_aside:
        return Result(COMMAND, data, (Line("ok", "the state is the same: nothing to do"),))
    if dry_run:
        return Result(COMMAND, data, tuple(Line("info", text) for text in texts))
    if reload_note.is_gateway_running(places):
        raise UserError("a gateway with toolguard is running", "stop it with `openclaw gateway stop`, then import again")
    if not yes and not asking.confirm(texts, "Import?", as_json=as_json, what="what would be imported"):
        return Result(COMMAND, {**data, "changed": False}, (Line("info", "nothing was changed"),), 1)
    return _imported(places, file, planned, data)


def _imported(places: Places, file: Path, planned: ImportPlan, data: dict[str, Any]) -> Result:
    try:
        kept = import_state.perform(places.state_dir, planned, time.time())
    except OSError as error:
        raise UserError(f"the import is not complete: {error}", "fix the cause, then import again") from error
    line = gateway_stores.event("state", code="state.imported", reason=f"{len(planned.written)} files from {file}")
    lines = [Line("ok", f"{len(planned.written)} files imported")]
    lines += [Line("info", f"what was there before is in {kept}")] if kept else []
    lines += [Line("warn", warning) for warning in gateway_stores.logged(places, line)]
    lines.append(Line("next", "start the gateway, then run `toolguard doctor`"))
    return Result(COMMAND, {**data, "changed": True, "kept": str(kept) if kept else ""}, tuple(lines))


def _texts(archive: Archive, planned: ImportPlan) -> list[str]:
    about = archive.about
    made = f"{printable.plain(about.gateway)} at {printable.moment(about.at)}, by toolguard {printable.plain(about.version)}"
    texts = [f"made of {made}", f"writes: {', '.join(sorted(planned.written)) or 'nothing'}"]
    if removed := [name for name in planned.put_aside if name not in planned.written]:
        texts.append(f"puts aside: {', '.join(removed)}")
    if state_files.POLICY in planned.written:
        texts.append(f"rules and grants become those of then: {_policy(planned.written[state_files.POLICY])}")
        texts.append("grants given since then end; grants revoked since then count again, unless they have expired")
    if planned.whole:
        texts.append("calls that wait, their approvals and answers for sessions end; budgets are those of then")
        texts.append("in a fleet, run `toolguard fleet join` afterwards")
    else:
        texts.append("stays as it is now: the audit log, budgets, expired grants, answers about tools and the kill switch")
    return texts


def _policy(data: bytes) -> str:
    try:
        policy = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return "they cannot be read"
    counts = [(name, policy.get(name)) for name in ("rule", "grant")]
    return ", ".join(f"{len(value) if isinstance(value, list) else 0} {name}s" for name, value in counts)


def _data(archive: Archive, planned: ImportPlan, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dryRun": dry_run,
        "changed": False,
        "at": archive.about.at,
        "whole": planned.whole,
        "written": sorted(planned.written),
        "putAside": list(planned.put_aside),
    }
