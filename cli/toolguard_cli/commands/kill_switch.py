"""`toolguard kill-switch`: stops every tool call of every agent, or allows them again."""

from __future__ import annotations

from typing import Annotated

import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.operations import set_kill_switch
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_cli.terminal.shell_completion import offering

app = command_app()


def _actions(_options: object) -> list[tuple[str, str]]:
    return [(request, "") for request in set_kill_switch.REQUESTS]


@command(
    app,
    "toolguard kill-switch on --why 'it is emailing everyone'",
    "toolguard kill-switch status",
    "toolguard kill-switch off",
)
def kill_switch(
    places: Places,
    action: Annotated[
        str,
        typer.Argument(metavar="[on|off|status]", help="What to do.", autocompletion=offering(_actions)),
    ] = "status",
    *,
    why: Annotated[
        str, typer.Option("--why", "--reason", help="The reason, for the agents and the audit log.", show_default=False)
    ] = "",
) -> Result:
    """Block every tool call by every agent, or allow calls again.

    Without on or off, shows whether the switch is on.

    While the switch is on, each call is blocked and its run ends, in every mode and for every gateway of this state
    directory, even after a restart. A call that is already running is not stopped.
    """
    try:
        request = set_kill_switch.parse_request(action)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="on|off|status") from error
    return set_kill_switch.run(places, request, why=why)
