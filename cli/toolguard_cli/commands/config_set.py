"""`toolguard config set`: changes one value."""

from __future__ import annotations

from typing import Annotated

import typer

from toolguard_cli.commands.command_options import DryRun, Offline, Root, Setting, announce_openclaw, command, command_app
from toolguard_cli.operations import set_setting
from toolguard_cli.operations.change_setting import ChangeOptions
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.negative_numbers import TakesNegative
from toolguard_cli.terminal.result import Result

app = command_app()


@command(
    app,
    "toolguard config set mode soft",
    "toolguard config set agents.main.escalationThreshold 50",
    """toolguard config set alwaysBlock '["gateway", "nodes"]'""",
    "toolguard config set plugins.entries.toolguard.enabled true --dry-run",
    cls=TakesNegative,
)
def config_set(
    places: Places,
    path: Setting,
    value: Annotated[
        str,
        typer.Argument(
            metavar="VALUE",
            help="JSON5; anything else is a string. Put -- before a string that starts with -.",
            show_default=False,
        ),
    ],
    *,
    root: Root = False,
    dry_run: DryRun = False,
    offline: Offline = False,
    as_json: bool = False,
) -> Result:
    """Change one value, or several.

    Before anything is written, the whole config is checked with the change, also by OpenClaw if it is on PATH. A change that
    would keep the gateway from starting is refused. A backup is written beside the file.
    """
    announce_openclaw(offline=offline, as_json=as_json)
    options = ChangeOptions(root=root, dry_run=dry_run, offline=offline)
    return set_setting.run(places, path, value, options)
