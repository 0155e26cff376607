"""`toolguard fleet deny`: refuses a held call of any gateway, or withdraws an unused approval."""

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


@command(app, "toolguard fleet deny 3f9a51c2d07b --reason 'not on this host'")
def run(places: Places, nonce: FleetNonce, *, reason: Reason = "", dsn: Dsn = "") -> Result:
    """Deny a held call on any of your teams' gateways, or withdraw an unused approval. This needs no signature."""
    require_human.refuse(places, "fleet deny", loosens=False)
    with fleet_session.opened(places, dsn) as session:
        call = fleet_decisions.find(session.waiting(), nonce)
        row, message = fleet_decisions.deny(session, call, reason)
    data = fleet_decisions.public(fleet_decisions.ShownCall(row, call.entry))
    return Result("fleet deny", data, (Line("ok", message), Line("info", printable.plain(call.entry.shown))))
