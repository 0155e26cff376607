"""`toolguard fleet join`: registers this gateway."""

from __future__ import annotations

from typing import Annotated

import typer

from toolguard_cli.commands import joining
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result

app = command_app()


@command(app, "toolguard fleet join --team ops --dsn 'host=db.example dbname=fleet user=toolguard_gateway'")
def run(
    places: Places,
    *,
    dsn: Annotated[str, typer.Option("--dsn", help="The database, with the login of the gateways and without a password.")],
    team: Annotated[str, typer.Option("--team", help="The team that is responsible for this gateway.")],
    anew: Annotated[
        bool, typer.Option("--new-identity", help="Create a new identity, for a gateway that was revoked or copied.")
    ] = False,
) -> Result:
    """Register this gateway with the fleet, and set fleet.dsn, fleet.team and fleet.enabled.

    Writes the gateway's id and token to fleet-identity.json, beside the held calls. The database stores only a digest of the
    token. Until an admin admits the gateway, calls that need approval are blocked.
    """
    require_human.refuse(places, "fleet join")
    return joining.join(places, dsn, team, anew=anew)
