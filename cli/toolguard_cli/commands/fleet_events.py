"""`toolguard fleet events`: what was done to the registry, and what the database noticed."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_session, registry_view
from toolguard_cli.system import time_spans
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import Line, Result, dated
from toolguard_engine.wording import printable

HEAD = ("WHEN", "EVENT", "TEAM", "GATEWAY", "WHO", "DETAIL")
HOUR = 3600
MAX_HOURS = 87_600

app = command_app()


@command(app, "toolguard fleet events --since 7d", "toolguard fleet events --kind audit.fork --json")
def run(
    places: Places,
    *,
    last: Annotated[int, typer.Option(min=1, max=1_000, help="Show at most this many of the newest events.")] = 50,
    kind: Annotated[str, typer.Option(help="Only this kind, for example admit or audit.fork.", show_default=False)] = "",
    team: Annotated[str, typer.Option(help="Only events of this team.", show_default=False)] = "",
    gateway: Annotated[str, typer.Option(help="Only events of the gateway with this id.", show_default=False)] = "",
    since: Annotated[str, typer.Option(help=f"Only the last {time_spans.SPELLED}.", show_default=False)] = "",
    dsn: Dsn = "",
) -> Result:
    """Show what was done to the fleet (admissions, people, policies, kill switches) and what the database noticed.

    Events that concern no team are shown to admins and to people of the whole fleet.
    """
    named = {"kind": kind, "team": team, "gateway": gateway}
    filters: dict[str, object] = {name: value for name, value in named.items() if value}
    if since:
        filters["hours"] = max(1, min(MAX_HOURS, -int(-time_spans.seconds(since, "--since") // HOUR)))
    with fleet_session.opened(places, dsn) as session:
        events = session.events(filters, limit=last)
    data = {"events": [dated(registry_view.camel_case(msgspec.to_builtins(event)), "at") for event in events]}
    if not events:
        return Result("fleet events", data, (Line("info", "no events match"),))
    rows = [
        (printable.moment(event.at), *map(printable.plain, (event.kind, event.team, event.gateway, event.who, event.detail)))
        for event in reversed(events)
    ]
    return Result("fleet events", data, tuple(tables.table(HEAD, rows)))
