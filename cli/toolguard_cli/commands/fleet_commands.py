"""`toolguard fleet`: many gateways, one guard, behind PostgreSQL."""

from __future__ import annotations

from typing import Annotated

import typer

from toolguard_cli.commands.command_options import command_app, examples
from toolguard_cli.commands.command_table import FleetGroup

Dsn = Annotated[
    str,
    typer.Option(
        "--dsn", help="The database (default: $TOOLGUARD_FLEET_DSN, then fleet.dsn with your login).", show_default=False
    ),
]
GatewayId = Annotated[
    str, typer.Argument(metavar="ID", help="The id that toolguard fleet gateways shows.", show_default=False)
]

app = command_app()


@app.callback(
    cls=FleetGroup,
    no_args_is_help=True,
    epilog=examples(
        "toolguard fleet init --dsn 'host=db.example dbname=fleet user=fleet_owner'",
        "toolguard fleet join --dsn 'host=db.example dbname=fleet user=toolguard_gateway' --team ops",
        "toolguard fleet gateways",
    ),
)
def group() -> None:
    """Set up and manage a fleet of gateways that share one database.

    Requires the [fleet] extra. Passwords belong in ~/.pgpass, not in a connection
    string.
    """
