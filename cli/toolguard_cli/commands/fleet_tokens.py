"""`toolguard fleet tokens`: what logs people in to the fleet dashboard."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from toolguard_cli.commands.command_options import ConfigPath, Json, StateDir, command, command_app, examples, finish
from toolguard_cli.commands.fleet_approvers import PersonId
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_session, registry_view
from toolguard_cli.person import require_human
from toolguard_cli.system import paths
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result, dated
from toolguard_engine.wording import printable

if TYPE_CHECKING:
    from toolguard_fleet.registry_rows import PageToken

DAYS = 90
MOST_DAYS = 366

app = command_app()


@app.callback(invoke_without_command=True, epilog=examples("toolguard fleet tokens", "toolguard fleet tokens add anna"))
def group(
    context: typer.Context, state_dir: StateDir = None, config: ConfigPath = None, as_json: Json = False, dsn: Dsn = ""
) -> None:
    """List, add and revoke the tokens for logging in to the fleet dashboard. Without a subcommand, lists them."""
    if context.invoked_subcommand is None:
        finish(list_tokens(paths.find(state_dir, config), dsn=dsn), as_json=as_json)
    elif state_dir or config or as_json or dsn:
        raise typer.BadParameter(f"put the options after {context.invoked_subcommand}")


@command(app, "toolguard fleet tokens list --json", name="list")
def list_tokens(places: Places, *, dsn: Dsn = "") -> Result:
    """List the ids of the tokens that people in your teams use. The tokens themselves are not stored."""
    with fleet_session.opened(places, dsn) as session:
        tokens = session.page_tokens()
    lines = [Line("ok" if token.valid else "info", _described(token)) for token in tokens]
    data = {"tokens": [_data(token) for token in tokens]}
    return Result("fleet tokens list", data, tuple(lines or [Line("info", "there are no tokens")]))


@command(app, "toolguard fleet tokens add anna", "toolguard fleet tokens add anna --days 7", name="add")
def add(
    places: Places,
    person: PersonId,
    *,
    days: Annotated[int, typer.Option(min=1, max=MOST_DAYS, help="The number of days that the token is valid.")] = DAYS,
    dsn: Dsn = "",
) -> Result:
    """Create a token for a person, and show it once.

    The token grants what the person's role allows: viewing, approving with a passkey, denying calls, and stopping gateways.
    """
    require_human.refuse(places, "fleet tokens add")
    token = f"tgf-{secrets.token_hex(32)}"
    with fleet_session.opened(places, dsn) as session:
        made = session.add_page_token(person, sha256(token.encode()).digest(), days)
    lines = (
        Line("ok", printable.plain(f"{made.id} for {made.person}, valid until {printable.moment(made.expires)}")),
        Line("info", f"the token, shown only once: {token}"),
    )
    return Result("fleet tokens add", {"token": token, **_data(made)}, lines)


@command(app, "toolguard fleet tokens revoke tok-0123456789ab", name="revoke")
def revoke(
    places: Places,
    token: Annotated[
        str, typer.Argument(metavar="ID", help="The id that toolguard fleet tokens shows.", show_default=False)
    ],
    *,
    dsn: Dsn = "",
) -> Result:
    """Revoke a token, and end its sessions."""
    require_human.refuse(places, "fleet tokens revoke", loosens=False)
    with fleet_session.opened(places, dsn) as session:
        revoked = session.revoke_page_token(token)
    line = Line("ok", printable.plain(f"revoked {revoked.id} of {revoked.person}"))
    return Result("fleet tokens revoke", _data(revoked), (line,))


@command(app, "toolguard fleet tokens proxy on", name="proxy")
def proxy(
    places: Places,
    state: Annotated[str, typer.Argument(metavar="on|off", show_default=False)],
    *,
    dsn: Dsn = "",
) -> Result:
    """Allow or forbid logging in to the dashboard through a reverse proxy."""
    if state not in ("on", "off"):
        raise UserError(f"{printable.cut(state, 40)} is neither on nor off", "toolguard fleet tokens proxy on")
    require_human.refuse(places, "fleet tokens proxy", loosens=state == "on")
    with fleet_session.opened(places, dsn) as session:
        session.set_page_proxy(state == "on")
    words = "a reverse proxy may log people in" if state == "on" else "people can log in only with a token"
    return Result("fleet tokens proxy", {"proxy": state == "on"}, (Line("ok", words),))


@command(app, "toolguard fleet tokens login --dsn 'host=db.example dbname=fleet user=fleet_owner'", name="login")
def login(places: Places, *, dsn: Dsn = "") -> Result:
    """Set a new password for the dashboard's database login (run as the owner)."""
    require_human.refuse(places, "fleet tokens login")
    with fleet_session.user_errors():
        from toolguard_fleet import registration  # noqa: PLC0415 - needs the extra

        password = registration.new_password(fleet_session.chosen(places, dsn), registration.PAGE)
    lines = (
        Line("ok", f"password of the login {registration.PAGE}, shown only once: {password}"),
        Line(
            "next",
            "put it into the ~/.pgpass of the user that runs the dashboard: "
            f"HOST:PORT:DATABASE:{registration.PAGE}:PASSWORD",
        ),
    )
    return Result("fleet tokens login", {"login": registration.PAGE, "password": password}, lines)


def _described(token: PageToken) -> str:
    state = "valid until" if token.valid else "revoked; was valid until" if token.revoked else "ended"
    used = f"last used {printable.moment(token.used)}" if token.used else "never used"
    return printable.plain(f"{token.id}  {token.person}  {state} {printable.moment(token.expires)}, {used}")


def _data(token: PageToken) -> dict[str, Any]:
    fields: dict[str, Any] = registry_view.camel_case(msgspec.to_builtins(token))
    fields = {name: value for name, value in fields.items() if value is not None}
    return dated(fields, *(name for name in ("created", "expires", "used", "revoked") if name in fields))
