"""`toolguard fleet revive`: asks an agent again whose held call expired before anybody answered."""

from __future__ import annotations

from toolguard_cli.commands.command_options import Reason, command, command_app
from toolguard_cli.commands.fleet_approve import FleetNonce
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_decisions, fleet_session
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.wording import printable

app = command_app()


@command(app, "toolguard fleet revive 3f9a51c2d07b")
def run(places: Places, nonce: FleetNonce, *, reason: Reason = "", dsn: Dsn = "") -> Result:
    """Ask an agent on any of your teams' gateways to retry a call that expired unanswered."""
    return revive(places, nonce, reason, dsn)


def revive(places: Places, nonce: str, reason: str, dsn: str = "", gateway: str = "") -> Result:
    """`gateway`: only a call of this one."""
    require_human.refuse(places, "fleet revive", loosens=False)
    with fleet_session.opened(places, dsn) as session:
        call = fleet_decisions.find(session.closed(), nonce, gateway)
        message = fleet_decisions.revive(session, call, reason)
    data = fleet_decisions.public(call)
    return Result("fleet revive", data, (Line("ok", message), Line("info", printable.plain(call.entry.shown))))
