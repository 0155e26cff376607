"""`toolguard fleet migrate`: brings the fleet's schema up to date."""

from __future__ import annotations

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_session
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result

app = command_app()


@command(app, "toolguard fleet migrate --dsn 'host=db.example dbname=fleet user=fleet_owner'")
def run(places: Places, *, dsn: Dsn = "") -> Result:
    """Bring the fleet's schema up to date, and create partitions for the next 30 days. Needs the owner's login."""
    require_human.refuse(places, "fleet migrate", loosens=False)
    with fleet_session.user_errors():
        from toolguard_fleet import registration  # noqa: PLC0415 - needs the extra

        applied, version = registration.migrate(fleet_session.chosen(places, dsn))
    lines = [Line("ok", f"applied {name}") for name in applied] or [Line("ok", f"nothing to do: version {version}")]
    return Result("fleet migrate", {"applied": applied, "version": version}, tuple(lines))
