"""`toolguard state export`: writes the state into one file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import state_archive
from toolguard_cli.person import require_human
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.wording import printable

NOT_IN_IT = "not in it: waiting calls, approvals, answers for sessions, the fleet identity, what undo keeps, metrics"
_PUBLIC = Line("warn", "whoever can read this file can approve calls; keep it where your agents cannot")
_OPEN = Line("warn", "the file system there lets other users of a machine read the file")

app = command_app()


@command(app, "toolguard state export", "toolguard state export /mnt/usb/monday.toolguard-state")
def run(
    places: Places,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="A new file. By default, one in the folder exports of toolguard's state."),
    ] = None,
) -> Result:
    """Write the state into one file.

    The gateway may run meanwhile. The file holds the key that signs approvals and grants. Agents may read nothing in the
    folder exports; elsewhere, keep the file where only you can read it.
    """
    require_human.refuse(places, "state export")
    usual = state_archive.folder(places.state_dir) / state_archive.usual_name(time.time())
    target = file.expanduser().absolute() if file else usual
    with gateway_stores.user_errors():
        try:
            about = state_archive.write(places.state_dir, target)
        except OSError as error:
            raise UserError(f"nothing was written: {error}", f"check {printable.plain(str(target.parent))}") from error
    total = sum(archived.size for archived in about.files)
    line = gateway_stores.event("state", code="state.exported", reason=f"{len(about.files)} files were written to {target}")
    lines = [
        Line("ok", f"{len(about.files)} files, {total:,} bytes: {printable.plain(str(target))}"),
        Line("info", NOT_IN_IT),
        *([_PUBLIC] if file else []),
        *([_OPEN] if target.stat().st_mode & 0o077 else []),
        *(Line("warn", warning) for warning in gateway_stores.logged(places, line)),
    ]
    return Result("state export", {"file": str(target), "files": [archived.name for archived in about.files]}, tuple(lines))
