"""`toolguard fleet pending`: the calls that wait on all gateways of your teams."""

from __future__ import annotations

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_decisions, fleet_session
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.wording import printable

HEAD = ("NONCE", "STATE", "LEFT", "TEAM", "HOST", "AGENT", "CALL")
MAX_CALL = 60

app = command_app()


@command(app, "toolguard fleet pending", "toolguard fleet pending --json")
def run(places: Places, *, dsn: Dsn = "") -> Result:
    """List the calls waiting for approval on your teams' gateways."""
    with fleet_session.opened(places, dsn) as session:
        calls = [call for row in session.waiting() if (call := fleet_decisions.shown(row))]
    data = {"calls": [fleet_decisions.public(call) for call in calls]}
    if not calls:
        return Result("fleet pending", data, (Line("info", "no call is waiting for approval"),))
    return Result("fleet pending", data, tuple(tables.table(HEAD, [_row(call) for call in calls])))


def _row(call: fleet_decisions.ShownCall) -> tuple[str, ...]:
    row, entry = call.row, call.entry
    cells = (row.nonce, row.status, printable.duration(max(row.left, 0)), row.team, row.host, entry.agent)
    return (*map(printable.plain, cells), printable.cut(printable.plain(entry.shown), MAX_CALL))
