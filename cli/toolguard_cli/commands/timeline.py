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
from toolguard_cli.system.errors import UserError, WrongOptionError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.metrics import read_database
from toolguard_engine.metrics.database import Missing
from toolguard_engine.metrics.queries import TimelineFilter, search, undoable
from toolguard_engine.metrics.result_types import Timeline, Totals
from toolguard_engine.wording import printable

SHOWN = 400
"""Events that are listed; `--json` has more."""
MOST = 2_000
LONGEST = 200
"""Characters of a filter."""

app = command_app()


@command(
    app,
    "toolguard timeline",
    "toolguard timeline --agent main --since 8h",
    "toolguard timeline --find '~/photos' --since 7d",
    "toolguard timeline --json",
)
def run(  # noqa: PLR0913 - one for each option
    places: Places,
    *,
    agent: Annotated[str, typer.Option("--agent", metavar="ID", help="Only this agent.")] = "",
    session: Annotated[str, typer.Option("--session", metavar="KEY", help="Only this session.")] = "",
    gateway: Annotated[str, typer.Option("--gateway", metavar="NAME", help="Only this gateway.")] = "",
    run_id: Annotated[str, typer.Option("--run", metavar="ID", help="Only this run.")] = "",
    find: Annotated[
        str, typer.Option("--find", metavar="TEXT", help="Only events with this tool, path, nonce or text.")
    ] = "",
    since: Annotated[str, typer.Option("--since", help=f"{time_spans.SPELLED}.")] = "8h",
    until: Annotated[str, typer.Option("--until", help="Leave out what is newer than this.")] = "",
    as_json: bool = False,
) -> Result:
    """Show what agents did, by session and run.

    Lists model calls with their cost, tool calls with their verdicts, corrections, and held calls with their answers, of all
    gateways that write to the same metrics file. Needs metrics.enabled. Of a call that was simply allowed, the tool is
    recorded and not its arguments; results of tools and texts of models are never recorded.
    """
    now = time.time_ns() // 1_000_000
    begins = now - time_spans.seconds(since, "--since") * 1000
    ends = now + 1 - (time_spans.seconds(until, "--until") * 1000 if until else 0)
    if ends <= begins:
        raise WrongOptionError(f"--until {until} ends before --since {since} begins", "give --since a longer time")
    wanted = TimelineFilter(
        gateway=_text(gateway, "--gateway"),
        agent=_text(agent, "--agent"),
        session=_text(session, "--session"),
        run=_text(run_id, "--run"),
        text=_text(find, "--find"),
    )
    metrics = cost_format.settings(places)
    path = cost_format.path(metrics)
    try:
        with gateway_stores.user_errors(), read_database.asked(path) as connection:
            report = search(connection, begins, ends, wanted, MOST if as_json else SHOWN)
            report = undoable.timeline(connection, report)
    except UserError as error:
        if not isinstance(error.__cause__, Missing):
            raise
        report = Timeline([], begins, ends, is_cut=False, totals=Totals())
    lines = timeline_lines.lines(report) if report.events else _nothing(places, report, since, now, enabled=metrics.enabled)
    return Result("timeline", msgspec.to_builtins(report), tuple(lines))


def _text(value: str, option: str) -> str:
    """Raises `WrongOptionError` for what stands in no event."""
    if len(value) > LONGEST:
        raise WrongOptionError(f"{option} has {len(value):,} characters", f"at most {LONGEST} are searched for")
    if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        raise WrongOptionError(f"{option} is no text in UTF-8", "write it in UTF-8")
    return value


def _nothing(places: Places, report: Timeline, since: str, now: int, *, enabled: bool) -> Iterator[Line]:
    if report.is_cut:
        yield Line("info", f"nothing fits among the newest events, back to {printable.moment(report.since / 1000)}")
        seconds = (now - report.since) // 1000
        yield Line("next", f"the same command with --until {max(1, seconds)}s goes on from there")
    elif enabled:
        yield Line("info", f"nothing was recorded in the last {since} that fits")
        yield Line(
            "next", "toolguard timeline --since 7d looks further back; toolguard audit show has what was held and blocked"
        )
    else:
        yield Line("warn", f"nothing was recorded in the last {since}: {cost_format.OFF}")
        yield Line("next", cost_format.switch(places))
