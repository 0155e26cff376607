"""`toolguard checkpoint`: refills the agents' risk budgets after a review."""

from __future__ import annotations

from typing import Annotated

import typer

from toolguard_cli.commands.command_options import ConfigPath, DryRun, Json, StateDir, command_app, examples, finish
from toolguard_cli.operations import refill_budgets
from toolguard_cli.system import paths

app = command_app()


@app.command(
    epilog=examples(
        "toolguard checkpoint",
        "toolguard checkpoint --agent main --dry-run",
        "toolguard checkpoint --session agent:main:main",
    )
)
def command(
    agent: Annotated[str, typer.Option("--agent", help="Only this agent.", show_default=False)] = "",
    session: Annotated[str, typer.Option("--session", help="Only this session.", show_default=False)] = "",
    dry_run: DryRun = False,
    state_dir: StateDir = None,
    config: ConfigPath = None,
    as_json: Json = False,
) -> None:
    """Refill the agents' risk budgets after a review.

    Run it once you have reviewed what the agents did: it refills their budgets, resets their drift signals and raises their
    trust a little. Without --agent and --session it applies to every budget that was used; toolguard status lists them.
    """
    chosen = refill_budgets.Chosen(agent, session)
    finish(refill_budgets.run(paths.find(state_dir, config), chosen, dry_run=dry_run), as_json=as_json)
