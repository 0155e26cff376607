"""`toolguard fleet approvers`: the people of the fleet."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from toolguard_cli.commands.command_options import ConfigPath, Json, StateDir, command, command_app, examples, finish
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_session, registry_view
from toolguard_cli.person import require_human
from toolguard_cli.system import paths
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.wording import printable

PersonId = Annotated[str, typer.Argument(metavar="ID", help="The person's name in allowed_signers.", show_default=False)]

app = command_app()


@app.callback(invoke_without_command=True, epilog=examples("toolguard fleet approvers", "toolguard fleet approvers list"))
def group(
    context: typer.Context, state_dir: StateDir = None, config: ConfigPath = None, as_json: Json = False, dsn: Dsn = ""
) -> None:
    """Manage the people who may approve, view or administer. Without a command, lists them."""
    if context.invoked_subcommand is None:
        finish(list_persons(paths.find(state_dir, config), dsn=dsn), as_json=as_json)
    elif state_dir or config or as_json or dsn:
        raise typer.BadParameter(f"put the options after {context.invoked_subcommand}")


@command(app, "toolguard fleet approvers list --json", name="list")
def list_persons(places: Places, *, dsn: Dsn = "") -> Result:
    """List the people in your teams, including those whose access was revoked."""
    with fleet_session.opened(places, dsn) as session:
        approvers = session.approvers()
    data = {"approvers": [registry_view.person_data(approver) for approver in approvers]}
    return Result("fleet approvers list", data, tuple(registry_view.person_lines(approvers)))


@command(
    app,
    "toolguard fleet approvers add anna --team ops",
    "toolguard fleet approvers add adam@example.com --login adam --role admin --team '*' --create-login",
    name="add",
)
def add(
    places: Places,
    person: PersonId,
    *,
    team: Annotated[list[str], typer.Option("--team", help="A team, or '*' for all; may be repeated.")],
    login: Annotated[
        str, typer.Option("--login", help="The person's login to the database (default: ID).", show_default=False)
    ] = "",
    role: Annotated[str, typer.Option("--role", help="viewer, approver or admin.")] = "approver",
    create: Annotated[bool, typer.Option("--create-login", help="Create the login; its password is shown once.")] = False,
    dsn: Dsn = "",
) -> Result:
    """Register a person, or change a person's role and teams. An approval also needs a signature that the gateways trust."""
    require_human.refuse(places, "fleet approvers add")
    with fleet_session.opened(places, dsn) as session:
        name = login or person
        password = secrets.token_urlsafe(24) if create else ""
        verifier = session.verifier(name, password) if create else None
        approver = session.add_approver(person, name, role, team, verifier)
    teams = ", ".join(approver.teams)
    words = printable.plain(f"{approver.id} has the role {approver.role} in {teams}, with the login {approver.login}")
    lines = [Line("ok", words)]
    if create:
        lines.append(Line("info", f"password of the login, shown only once: {password}"))
    return Result(
        "fleet approvers add", {"approver": registry_view.person_data(approver), "password": password}, tuple(lines)
    )


@command(app, "toolguard fleet approvers revoke anna", name="revoke")
def revoke(places: Places, person: PersonId, *, dsn: Dsn = "") -> Result:
    """Revoke a person's access, effective at once.

    Also remove the key from allowed_signers, or add it to the revocation list.
    """
    require_human.refuse(places, "fleet approvers revoke", loosens=False)
    with fleet_session.opened(places, dsn) as session:
        approver = session.revoke_approver(person)
    line = Line("ok", printable.plain(f"revoked the access of {approver.id}, with the login {approver.login}"))
    return Result("fleet approvers revoke", {"approver": registry_view.person_data(approver)}, (line,))
