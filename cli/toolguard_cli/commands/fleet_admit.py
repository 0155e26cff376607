"""`toolguard fleet admit`: admits a gateway."""

from __future__ import annotations

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.commands.fleet_commands import Dsn, GatewayId
from toolguard_cli.fleet import fleet_session, registry_view
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.wording import printable

app = command_app()


@command(app, "toolguard fleet admit gw-0123456789abcdef")
def run(places: Places, gateway: GatewayId, *, dsn: Dsn = "") -> Result:
    """Admit a gateway that has joined. First compare its fingerprint with the one that it printed when it joined."""
    require_human.refuse(places, "fleet admit")
    with fleet_session.opened(places, dsn) as session:
        admitted = session.admit(gateway)
    where = printable.plain(f"{admitted.id} on {admitted.host}, team {admitted.team}, fingerprint {admitted.fingerprint}")
    return Result("fleet admit", {"gateway": registry_view.gateway_data(admitted)}, (Line("ok", f"admitted {where}"),))
