"""`toolguard install`: installs the plugin into the gateway and enables it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from toolguard_cli.approvals import budgets
from toolguard_cli.commands.command_options import DryRun, command, command_app
from toolguard_cli.operations import answer_about_tools, guard_lines, install_plugin
from toolguard_cli.person import require_human
from toolguard_cli.setup import engine_code
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_cli.validation import enabled_extras

app = command_app()


@command(app, "toolguard install", "toolguard install --link", "toolguard install --dry-run --json")
def install(
    places: Places,
    *,
    link: Annotated[
        bool, typer.Option("-l", "--link", help="Load the plugin from its source folder, not from a copy.")
    ] = False,
    dry_run: DryRun = False,
) -> Result:
    """Install the plugin into the gateway and enable it.

    Copies the plugin into the state directory and adds its entry to openclaw.json. Comments and layout of that file are
    kept, and a backup is written beside it. Running it again updates the copy if necessary. At the end, the command reports
    whether a running gateway has loaded the plugin; it waits up to 5 seconds for this.
    """
    require_human.refuse(places, "install", loosens=not dry_run)
    result = install_plugin.run(places, link=link, dry_run=dry_run)
    if dry_run:
        return result
    engine_code.pack()
    lines = (*result.lines, *answer_about_tools.begin(places), *enabled_extras.lines(budgets.settings(places)))
    return guard_lines.after(replace(result, lines=lines), places)
