"""`toolguard containment`: what the kernel keeps from the commands of agents."""

from __future__ import annotations

from toolguard_cli.commands.command_options import command_app, examples
from toolguard_cli.commands.command_table import ContainmentGroup

app = command_app()


@app.callback(
    cls=ContainmentGroup,
    no_args_is_help=True,
    epilog=examples(
        "toolguard containment status",
        "toolguard containment probe",
        "toolguard containment setup",
        "toolguard containment exec -- cat ~/.openclaw/openclaw.json",
    ),
)
def group() -> None:
    """Show, try and set up what the kernel keeps from commands.

    On Linux, the commands of agents run in a room: namespaces in which the files of the guard and of the gateway are hidden
    or read-only, whatever program a command runs. containment.profile sets how much is kept from them.
    """
