"""`toolguard kill-switch`: stops every tool call of every agent, or allows them again."""

from __future__ import annotations

from typing import Annotated

import typer

from toolguard_cli.commands.command_options import ConfigPath, Json, StateDir, command_app, examples, finish
from toolguard_cli.operations import set_kill_switch
from toolguard_cli.system import paths

app = command_app()


@app.command(
    epilog=examples(
        "toolguard kill-switch on --why 'it mails everybody'",
        "toolguard kill-switch status",
        "toolguard kill-switch off",
    ),
)
def command(
    action: Annotated[str, typer.Argument(metavar="on|off|status", help="What to do.", show_default=False)],
    why: Annotated[
        str, typer.Option("--why", help="The reason, for the agents and the audit log.", show_default=False)
    ] = "",
    state_dir: StateDir = None,
    config: ConfigPath = None,
    as_json: Json = False,
) -> None:
    """Stop every tool call of every agent, or allow them again.

    While the switch is on, each call is blocked and its run ends, in every mode and for every gateway of this state
    directory, also after a restart. A call that is already running is not stopped.
    """
    try:
        request = set_kill_switch.parse_request(action)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="on|off|status") from error
    finish(set_kill_switch.run(paths.find(state_dir, config), request, why=why), as_json=as_json)
