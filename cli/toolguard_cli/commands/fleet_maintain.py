"""`toolguard fleet maintain`: partitions and retention."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_session, registry_view
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.wording import printable

if TYPE_CHECKING:
    from toolguard_fleet.registry_rows import MaintenanceReport

QUOTA = re.compile(r"(?:([A-Za-z0-9_.-]{1,200})=)?([0-9]{1,7})")
KEPT = re.compile(r"([a-z_]{1,63})=([0-9]{1,4})")

app = command_app()


@command(app, "toolguard fleet maintain", "toolguard fleet maintain --keep held_closed=30")
def run(
    places: Places,
    *,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="TABLE=DAYS: how long a table's rows are kept; may be repeated.", show_default=False),
    ] = None,
    quota: Annotated[
        list[str] | None,
        typer.Option(
            "--quota",
            help="MB or GATEWAY=MB: how much each gateway, or one, may store in a day; may be repeated.",
            show_default=False,
        ),
    ] = None,
    dsn: Dsn = "",
) -> Result:
    """Create partitions for the next 30 days, drop old ones, and expire old calls. Run it daily."""
    require_human.refuse(places, "fleet maintain", loosens=False)
    wanted = [KEPT.fullmatch(text) for text in keep or []]
    if not all(wanted):
        raise typer.BadParameter("give TABLE=DAYS", param_hint="--keep")
    quotas = [QUOTA.fullmatch(text) for text in quota or []]
    if not all(quotas):
        raise typer.BadParameter("give a number of megabytes, or GATEWAY=MEGABYTES", param_hint="--quota")
    with fleet_session.opened(places, dsn) as session:
        for match in filter(None, wanted):
            session.set_retention(match[1], int(match[2]))
        for match in filter(None, quotas):
            session.set_quota(match[1] or "*", int(match[2]))
        done = session.maintain()
    words = f"{len(done.created)} partitions created, {len(done.dropped)} dropped, {done.expired} held calls expired"
    data = registry_view.camel_case(msgspec.to_builtins(done))
    return Result("fleet maintain", data, (Line("ok", words), *_warnings(done)))


def _warnings(done: MaintenanceReport) -> Iterator[Line]:
    for login in done.spared:
        yield Line("warn", f"old transactions of {printable.plain(login)} are not ended: the owner of the schema may not")
        yield Line("next", f"as an administrator of the server: GRANT {printable.plain(login)} TO the login of the owner")
    if done.open:
        yield Line("warn", "logins outside of the fleet may use the database; rights of a database are not in its dump")
        yield Line("next", "toolguard fleet migrate, as the owner of the schema, restores its rights")
