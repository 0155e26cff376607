"""`toolguard fleet migrate`: brings the fleet's schema up to date."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_session
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.wording import printable

app = command_app()


@command(app, "toolguard fleet migrate --dsn 'host=db.example dbname=fleet user=fleet_owner'")
def run(places: Places, *, dsn: Dsn = "") -> Result:
    """Bring the fleet's schema up to date, and create partitions for the next 30 days. Needs the owner's login."""
    require_human.refuse(places, "fleet migrate", loosens=False)
    with fleet_session.user_errors():
        from toolguard_fleet import registration  # noqa: PLC0415 - needs the extra

        limited: dict[str, bool] = {}
        applied, version = registration.migrate(fleet_session.chosen(places, dsn), limited.__setitem__)
    lines = [Line("ok", f"applied {name}") for name in applied] or [Line("ok", f"nothing to do: version {version}")]
    lines += [line for login, done in limited.items() for line in _login(login, done=done)]
    return Result("fleet migrate", {"applied": applied, "version": version, "logins": limited}, tuple(lines))


def _login(login: str, *, done: bool) -> Iterator[Line]:
    name = printable.plain(login)
    if done:
        yield Line("ok", f"set the timeouts and the connection limit of the team login {name}")
    else:
        yield Line("warn", f"skipped the team login {name}: this login may not change it, so its timeouts may differ")
        yield Line("next", f"as a superuser, grant the role {name} to this login WITH ADMIN OPTION, then try again")
