"""`toolguard state`: a backup of toolguard's state, and its way back."""

from __future__ import annotations

from toolguard_cli.commands.command_options import command_app, examples
from toolguard_cli.commands.command_table import StateGroup

app = command_app()


@app.callback(
    cls=StateGroup,
    no_args_is_help=True,
    epilog=examples(
        "toolguard state export",
        "toolguard state import /mnt/usb/monday.toolguard-state --dry-run",
    ),
)
def group() -> None:
    """Back up toolguard's state, or move it to another machine.

    The state is the key that signs approvals and grants, your rules and grants, the accepted settings, the audit log, the
    agents' budgets and the kill switch. Settings are in openclaw.json, which is not part of it.
    """
