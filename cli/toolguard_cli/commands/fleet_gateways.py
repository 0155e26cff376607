"""`toolguard fleet gateways`: lists the gateways."""

from __future__ import annotations

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_session, registry_view
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result

app = command_app()


@command(app, "toolguard fleet gateways", "toolguard fleet gateways --json")
def run(places: Places, *, dsn: Dsn = "") -> Result:
    """List the gateways of your teams: their state, their last contact, and the fingerprint of their token."""
    with fleet_session.opened(places, dsn) as session:
        gateways = session.gateways()
    data = {"gateways": [registry_view.gateway_data(gateway) for gateway in gateways]}
    return Result("fleet gateways", data, tuple(registry_view.gateway_lines(gateways)))
