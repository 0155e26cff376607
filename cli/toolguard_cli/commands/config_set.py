"""`toolguard config set`: changes one value."""

from __future__ import annotations

from typing import Annotated

import typer

from toolguard_cli.commands.command_options import (
    ConfigPath,
    DryRun,
    Json,
    Offline,
    Root,
    Setting,
    StateDir,
    announce_openclaw,
    command_app,
    examples,
    finish,
)
from toolguard_cli.operations import set_setting
from toolguard_cli.operations.change_setting import ChangeOptions
from toolguard_cli.system import paths
from toolguard_cli.terminal.negative_numbers import TakesNegative

app = command_app()


@app.command(
    cls=TakesNegative,
    epilog=examples(
        "toolguard config set mode soft",
        "toolguard config set agents.main.escalationThreshold 50",
        """toolguard config set alwaysBlock '["gateway", "nodes"]'""",
        "toolguard config set plugins.entries.toolguard.enabled true --dry-run",
    ),
)
def command(  # noqa: PLR0913, PLR0917 - the options of a command line
    path: Setting,
    value: Annotated[
        str,
        typer.Argument(
            metavar="VALUE",
            help="JSON5; anything else is a string. Put -- before a string that starts with -.",
            show_default=False,
        ),
    ],
    root: Root = False,
    dry_run: DryRun = False,
    offline: Offline = False,
    state_dir: StateDir = None,
    config: ConfigPath = None,
    as_json: Json = False,
) -> None:
    """Change one value.

    Before anything is written, the whole config is checked with the change, also by OpenClaw if it is on PATH. A change that
    would keep the gateway from starting is refused. A backup is written beside the file.
    """
    announce_openclaw(offline=offline, as_json=as_json)
    options = ChangeOptions(root=root, dry_run=dry_run, offline=offline)
    finish(set_setting.run(paths.find(state_dir, config), path, value, options), as_json=as_json)
