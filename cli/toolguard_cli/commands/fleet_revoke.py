"""`toolguard fleet revoke`: shuts a gateway out."""

from __future__ import annotations

from toolguard_cli.commands.command_options import Reason, command, command_app
from toolguard_cli.commands.fleet_commands import Dsn, GatewayId
from toolguard_cli.fleet import fleet_session, registry_view
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.wording import printable

app = command_app()


@command(app, "toolguard fleet revoke gw-0123456789abcdef --why 'the machine was stolen'")
def run(places: Places, gateway: GatewayId, *, reason: Reason = "", dsn: Dsn = "") -> Result:
    """Revoke a gateway permanently: its calls that need approval are blocked.

    It can join again only with a new identity.
    """
    require_human.refuse(places, "fleet revoke", loosens=False)
    with fleet_session.opened(places, dsn) as session:
        revoked = session.revoke_gateway(gateway, reason)
    line = Line("ok", printable.plain(f"revoked {revoked.id} on {revoked.host}, team {revoked.team}"))
    return Result("fleet revoke", {"gateway": registry_view.gateway_data(revoked)}, (line,))
