"""`toolguard fleet kill-switch`: stops all gateways of a team, or of the whole fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolguard_cli.commands import team_policy
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_session
from toolguard_cli.operations import set_kill_switch
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result, dated
from toolguard_engine.wording import printable

if TYPE_CHECKING:
    from toolguard_fleet.registry_rows import TeamSwitch

COMMAND = "fleet kill-switch"
MAX_WHY = 300

app = command_app()


@command(
    app,
    "toolguard fleet kill-switch on --why 'it is emailing everyone'",
    "toolguard fleet kill-switch status",
    "toolguard fleet kill-switch off --team ops",
)
def run(
    places: Places,
    action: Annotated[str, typer.Argument(metavar="on|off|status", help="What to do.", show_default=False)],
    *,
    team: Annotated[
        str,
        typer.Option(
            "--team", help="The team (default: that of this gateway), or '*' for the whole fleet.", show_default=False
        ),
    ] = "",
    why: Annotated[
        str, typer.Option("--why", "--reason", help="The reason, for the agents and the fleet's log.", show_default=False)
    ] = "",
    dsn: Dsn = "",
) -> Result:
    """Block every tool call on all gateways of a team, or allow calls again.

    Approvers can turn the kill switch on for their teams; only admins can turn it off. A change reaches the gateways
    within seconds. A gateway that cannot reach the database keeps the last known state.
    """
    try:
        request = set_kill_switch.parse_request(action)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="on|off|status") from error
    if request == "status":
        with fleet_session.opened(places, dsn) as session:
            switches = [switch for switch in session.kill_switches() if team in ("", switch.team)]
        lines = [Line("warn" if switch.on else "ok", _words(switch)) for switch in switches]
        return Result(
            COMMAND, {"teams": [_data(switch) for switch in switches]}, tuple(lines or [Line("info", "no such team")])
        )
    caller = require_human.caller(places, f"{COMMAND} {request}", loosens=request == "off")
    name = team_policy.team_of(places, team)
    with fleet_session.opened(places, dsn) as session:
        if request == "off":
            before = [switch for switch in session.kill_switches() if switch.team == name]
            caller.require([*map(_words, before), "calls will again be judged according to each gateway's settings"])
        switched = session.kill(name, " ".join(why.split()), on=request == "on")
    lines = [Line("ok", _words(switched))]
    if switched.on:
        lines.append(Line("info", "a call that is already running is not stopped"))
        lines.append(Line("next", f"an admin can allow calls again: toolguard {COMMAND} off --team {_option(name)}"))
    return Result(COMMAND, {"teams": [_data(switched)]}, tuple(lines))


def _words(switch: TeamSwitch) -> str:
    which = "the fleet's kill switch" if switch.team == "*" else f"{switch.team}'s kill switch"
    if not switch.on:
        return printable.plain(f"{which} is off")
    since = f", since {printable.moment(switch.at)}" if switch.at else ""
    why = printable.cut(switch.why, MAX_WHY) or "no reason given"
    return printable.plain(f"{which} is ON: no tool call runs on its gateways: {why} (by {switch.by}{since})")


def _data(switch: TeamSwitch) -> dict[str, Any]:
    fields = {
        "team": switch.team,
        "on": switch.on,
        "why": switch.why,
        "by": switch.by,
        "policyVersion": switch.policy_version,
    }
    return dated({**fields, "since": switch.at or 0.0}, "since")


def _option(team: str) -> str:
    return "'*'" if team == "*" else printable.plain(team)
