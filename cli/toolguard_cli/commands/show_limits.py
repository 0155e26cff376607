"""`toolguard limits`: limits on cost and tokens, what is used of them, and changing them."""

from __future__ import annotations

import re
from typing import Annotated, get_args

import typer

from toolguard_cli.commands.command_options import (
    ConfigPath,
    DryRun,
    Json,
    Offline,
    StateDir,
    announce_openclaw,
    command,
    command_app,
    examples,
    finish,
)
from toolguard_cli.operations import set_limit
from toolguard_cli.operations.change_setting import ChangeOptions
from toolguard_cli.operations.set_limit import LimitScope
from toolguard_cli.status import limit_lines
from toolguard_cli.system import paths
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.config.settings import LimitPeriod
from toolguard_engine.config.spending_limits import COMMAND
from toolguard_engine.wording import printable

PERIODS = get_args(LimitPeriod)
_SIZES = {"": 1, "k": 1_000, "m": 1_000_000}
_AMOUNTS = {
    "usd": (re.compile(r"(\d{1,12}(?:\.\d{1,9})?|\.\d{1,9})()", re.ASCII), "5 or 0.50"),
    "tokens": (re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([kKmM]?)", re.ASCII), "500000, 500k or 5M"),
}
"""How each amount is written, and an example."""

FIRST = f"{COMMAND} set day --usd 5"
FIRST_OF_RUNS = "toolguard config set runLimits.calls 200"

Per = Annotated[str, typer.Argument(metavar="PERIOD", help="session, day or month.", show_default=False)]
Agent = Annotated[str, typer.Option("--agent", help="The agent that the limit covers.", show_default=False)]
Model = Annotated[
    str, typer.Option("--model", help="Only this model, as provider/model; * matches anything.", show_default=False)
]

app = command_app()


@app.callback(
    invoke_without_command=True,
    epilog=examples(COMMAND, FIRST, f"{COMMAND} set session --tokens 2000000 --agent main", f"{COMMAND} remove day"),
)
def limits_root(
    context: typer.Context, state_dir: StateDir = None, config: ConfigPath = None, as_json: Json = False
) -> None:
    """Show and set limits on cost and tokens. Without a command, shows each limit and its usage.

    Usage is counted for all gateways on this machine that write to the same metrics file. At 80%, toolguard warns;
    at 100%, it ends runs until the period is over (UTC) or the limit is raised. Limits on one run (tool calls, requests,
    minutes) are settings: toolguard config set runLimits.calls 200.
    """
    if context.invoked_subcommand is None:
        finish(listing(paths.find(state_dir, config)), as_json=as_json)
    elif state_dir or config or as_json:
        raise typer.BadParameter(f"put the options after {context.invoked_subcommand}")


def listing(places: Places) -> Result:
    view = limit_lines.look(places)
    of_runs = [Line("info", text) for text in limit_lines.of_runs(places)]
    lines = limit_lines.table(view) if view.uses else [] if of_runs else [Line("info", "there is no limit")]
    lines += of_runs
    if not lines[1:]:
        lines.append(Line("next", f"{FIRST} sets one" + ("" if of_runs else f"; {FIRST_OF_RUNS} one on each run")))
    if view.problem[0]:
        lines = [Line("error", view.problem[0]), Line("next", view.problem[1])]
    else:
        lines += limit_lines.forecast_lines(view)
    return Result("limits", {**limit_lines.data(view), "problem": view.problem[0]}, tuple(lines))


@command(app, FIRST, f"{COMMAND} set month --tokens 50000000 --model 'anthropic/*'", name="set")
def set_one(  # noqa: PLR0913 - options of a command
    places: Places,
    per: Per,
    *,
    usd: Annotated[str | None, typer.Option("--usd", help="Maximum cost in USD.", show_default=False)] = None,
    tokens: Annotated[
        str | None, typer.Option("--tokens", help="Maximum number of tokens: 500000, 500k or 5M.", show_default=False)
    ] = None,
    agent: Agent = "",
    model: Model = "",
    dry_run: DryRun = False,
    offline: Offline = False,
    as_json: bool = False,
) -> Result:
    """Set, raise or lower one limit.

    Session totals reset daily. If the limit already exists, an amount that you omit stays the same.
    """
    amounts = {unit: _amount(text, unit) for unit, text in (("usd", usd), ("tokens", tokens)) if text is not None}
    if not amounts:
        raise typer.BadParameter("give an amount: --usd or --tokens")
    announce_openclaw(offline=offline, as_json=as_json)
    return set_limit.run(places, _scope(per, agent, model), amounts, ChangeOptions(dry_run=dry_run, offline=offline))


@command(app, f"{COMMAND} remove day", f"{COMMAND} remove session --agent main", name="remove")
def remove_one(
    places: Places,
    per: Per,
    *,
    agent: Agent = "",
    model: Model = "",
    dry_run: DryRun = False,
    offline: Offline = False,
    as_json: bool = False,
) -> Result:
    """Remove one limit."""
    announce_openclaw(offline=offline, as_json=as_json)
    return set_limit.remove(places, _scope(per, agent, model), ChangeOptions(dry_run=dry_run, offline=offline))


def _amount(text: str, unit: str) -> float:
    """`0.50` USD, or `5M` tokens. Raises `typer.BadParameter`."""
    pattern, example = _AMOUNTS[unit]
    match = pattern.fullmatch(text.strip().replace("_", ""))
    amount = float(match[1]) * _SIZES[match[2].lower()] if match else 0.5
    if not match or (unit == "tokens" and amount != int(amount)):
        raise typer.BadParameter(f"--{unit} takes a number such as {example}, not {printable.cut(text, 40)!r}")
    return amount


def _scope(per: str, agent: str, model: str) -> LimitScope:
    if per not in PERIODS:
        raise typer.BadParameter(f"{per!r} is not a period; use {', '.join(PERIODS)}", param_hint="PERIOD")
    return LimitScope(per, agent, model)
