"""`toolguard fleet leave`: takes this gateway out of the fleet."""

from __future__ import annotations

from typing import Annotated

import typer

from toolguard_cli.commands import joining
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.fleet import fleet_session
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result

app = command_app()


@command(app, "toolguard fleet leave")
def run(
    places: Places,
    *,
    dsn: Annotated[str, typer.Option("--dsn", help="The database (default: fleet.dsn).", show_default=False)] = "",
) -> Result:
    """Take this gateway out of the fleet: held calls are stored in files again, and its identity is deleted."""
    require_human.refuse(places, "fleet leave")
    return joining.leave(places, dsn or fleet_session.own_dsn(places))
