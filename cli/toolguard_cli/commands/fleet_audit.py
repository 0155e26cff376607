"""`toolguard fleet audit`: the audit logs of all gateways, in the fleet's database."""

from __future__ import annotations

from typing import Annotated

import typer

from toolguard_cli.commands.command_options import command, command_app, examples
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_audit_view, fleet_session
from toolguard_cli.system import time_spans
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result

GatewayOption = Annotated[
    str, typer.Option("--gateway", help="Only this gateway; toolguard fleet gateways lists the ids.", show_default=False)
]
HOUR = 3600

app = command_app()


@app.callback(
    no_args_is_help=True,
    epilog=examples("toolguard fleet audit show --since 7d", "toolguard fleet audit verify"),
)
def group() -> None:
    """Read and verify the audit logs of the fleet's gateways."""


@command(
    app,
    "toolguard fleet audit show --event block --since 7d",
    "toolguard fleet audit show --last 9",
    name="show",
)
def audit_show(
    places: Places,
    *,
    last: Annotated[int, typer.Option(min=1, max=1_000, help="Show at most this many of the newest lines.")] = 50,
    gateway: GatewayOption = "",
    event: Annotated[str, typer.Option(help="Only this event, for example hold or block.", show_default=False)] = "",
    nonce: Annotated[str, typer.Option(help="Only the held call with this nonce.", show_default=False)] = "",
    since: Annotated[str, typer.Option(help=f"Only the last {time_spans.SPELLED}.", show_default=False)] = "",
    dsn: Dsn = "",
) -> Result:
    """Show the newest audit lines of your teams' gateways, in order of arrival."""
    named = {"gateway": gateway, "event": event, "nonce": nonce}
    filters: dict[str, object] = {name: value for name, value in named.items() if value}
    if since:
        filters["hours"] = max(1, min(87_600, -int(-time_spans.seconds(since, "--since") // HOUR)))
    with fleet_session.opened(places, dsn) as session:
        lines = session.audit_trail().lines(filters, limit=last)
    data = {"lines": [fleet_audit_view.line_data(line) for line in lines]}
    return Result("fleet audit show", data, tuple(fleet_audit_view.shown_lines(lines)))


@command(app, "toolguard fleet audit verify", "toolguard fleet audit verify --gateway gw-0123456789abcdef", name="verify")
def verify(places: Places, *, gateway: GatewayOption = "", dsn: Dsn = "") -> Result:
    """Verify the hash chains of the stored lines.

    The chains are recomputed on this machine, which shows whether a stored line was changed, removed or added.
    """
    with fleet_session.opened(places, dsn) as session:
        checks = list(session.audit_trail().verify(gateway or None))
    data = {"chains": [fleet_audit_view.check_data(check) for check in checks]}
    is_sound = all(check.is_sound for check in checks)
    return Result("fleet audit verify", data, tuple(fleet_audit_view.check_lines(checks)), 0 if is_sound else 1)
