"""`toolguard checkpoint`: refills the agents' risk budgets after a review."""

from __future__ import annotations

from typing import Annotated

import typer

from toolguard_cli.commands.command_options import DryRun, command, command_app
from toolguard_cli.operations import refill_budgets
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result

app = command_app()


@command(
    app,
    "toolguard checkpoint",
    "toolguard checkpoint --agent main --dry-run",
    "toolguard checkpoint --session agent:main:main",
)
def checkpoint(
    places: Places,
    *,
    agent: Annotated[str, typer.Option("--agent", help="Only this agent.", show_default=False)] = "",
    session: Annotated[str, typer.Option("--session", help="Only this session.", show_default=False)] = "",
    dry_run: DryRun = False,
) -> Result:
    """Refill the agents' risk budgets after a review.

    Run it once you have reviewed what the agents did: it refills their budgets, resets their drift signals and raises their
    trust a little. Without --agent or --session, it applies to every used budget; toolguard status lists these.
    """
    return refill_budgets.run(places, refill_budgets.Chosen(agent, session), dry_run=dry_run)
