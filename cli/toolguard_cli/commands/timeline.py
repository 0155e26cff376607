"""`toolguard timeline`: what agents did, by session and run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated

import msgspec
import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.status import cost_format, timeline_lines
from toolguard_cli.system import time_spans
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.metrics import read_database
from toolguard_engine.metrics.database import Missing
from toolguard_engine.metrics.queries import TimelineFilter, timeline
from toolguard_engine.metrics.result_types import Timeline, Totals

SHOWN = 400
"""Events that are listed; `--json` has more."""
MOST = 2_000

app = command_app()


@command(
    app,
    "toolguard timeline",
    "toolguard timeline --agent main --since 8h",
    "toolguard timeline --find ~/photos --since 7d",
    "toolguard timeline --json",
)
def run(
    places: Places,
    *,
    agent: Annotated[str, typer.Option("--agent", metavar="ID", help="Only this agent.")] = "",
    session: Annotated[str, typer.Option("--session", metavar="KEY", help="Only this session.")] = "",
    find: Annotated[
        str, typer.Option("--find", metavar="TEXT", help="Only events with this tool, path, nonce or text.")
    ] = "",
    since: Annotated[str, typer.Option("--since", help=f"{time_spans.SPELLED}.")] = "8h",
    as_json: bool = False,
) -> Result:
    """Show what agents did, by session and run.

    Lists model calls with their cost, tool calls with their verdicts, corrections, and held calls with their answers, of all
    gateways that write to the same metrics file. Needs metrics.enabled. Of a call that was simply allowed, the tool is
    recorded and not its arguments; results of tools and texts of models are never recorded.
    """
    now = time.time_ns() // 1_000_000
    begins = now - time_spans.seconds(since, "--since") * 1000
    metrics = cost_format.settings(places)
    path = cost_format.path(metrics)
    wanted = TimelineFilter(agent=agent, session=session, text=find)
    try:
        with gateway_stores.user_errors(), read_database.asked(path) as connection:
            report = timeline(connection, begins, now + 1, wanted, MOST if as_json else SHOWN)
    except UserError as error:
        if not isinstance(error.__cause__, Missing):
            raise
        report = Timeline([], begins, now, is_cut=False, totals=Totals())
    lines = list(timeline_lines.lines(report)) if report.events else list(_nothing(places, since, enabled=metrics.enabled))
    return Result("timeline", msgspec.to_builtins(report), tuple(lines))


def _nothing(places: Places, since: str, *, enabled: bool) -> Iterator[Line]:
    if enabled:
        yield Line("info", f"nothing was recorded in the last {since} that fits")
        yield Line(
            "next", "toolguard timeline --since 7d looks further back; toolguard audit show has what was held and blocked"
        )
    else:
        yield Line("warn", f"nothing was recorded in the last {since}: {cost_format.OFF}")
        yield Line("next", cost_format.switch(places))
