"""`toolguard fleet init`: creates the fleet's schema and roles."""

from __future__ import annotations

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_session
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result

NEXT = (
    "put that password into the ~/.pgpass of each gateway's user: HOST:PORT:DATABASE:toolguard_gateway:PASSWORD",
    "as the owner: toolguard fleet approvers add YOUR-NAME --role admin --team '*' --create-login --dsn 'host=...'",
    "on each gateway: toolguard fleet join --team TEAM --dsn 'host=... dbname=... user=toolguard_gateway'",
    "as yourself: toolguard fleet gateways --dsn 'host=... dbname=... user=YOUR-NAME', then toolguard fleet admit ID",
)

app = command_app()


@command(app, "toolguard fleet init --dsn 'host=db.example dbname=fleet user=fleet_owner'")
def run(places: Places, *, dsn: Dsn = "") -> Result:
    """Create the fleet's schema and roles in a database.

    The login must own the database and be allowed to create roles. The command sets a password for the login of the
    gateways, and shows it only once.
    """
    require_human.refuse(places, "fleet init", loosens=False)
    fleet_session.refuse_password(dsn)
    with fleet_session.user_errors():
        from toolguard_fleet import registration  # noqa: PLC0415 - needs the extra

        chosen = fleet_session.chosen(places, dsn)
        if registration.has_schema(chosen):
            line = Line("ok", "the database already has the schema; toolguard fleet migrate brings it up to date")
            return Result("fleet init", {"created": False}, (line,))
        _, version = registration.migrate(chosen)
        password = registration.new_gateway_password(chosen)
    lines = [
        Line("ok", f"created the schema fleet, version {version}, and its roles"),
        Line("info", f"password of the login {registration.GATEWAYS}, shown only once: {password}"),
        *(Line("next", text) for text in NEXT),
    ]
    return Result("fleet init", {"created": True, "version": version, "gatewayPassword": password}, tuple(lines))
