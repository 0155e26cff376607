"""`toolguard fleet policy`: the signed policy of a team."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolguard_cli.commands import team_policy
from toolguard_cli.commands.command_options import SigningKey, command, command_app, examples
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_session
from toolguard_cli.fleet.own_settings import fleet_settings
from toolguard_cli.person import require_human
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result, dated
from toolguard_engine.stores.values import InvalidRulesError
from toolguard_engine.wording import printable

PolicyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The policy, a TOML file.", show_default=False)]
Trust = Annotated[
    Path | None,
    typer.Option(
        "--trust", metavar="DIR", help="The folder with allowed_signers (default: fleet.trust).", show_default=False
    ),
]

app = command_app()


@app.callback(
    no_args_is_help=True,
    epilog=examples("toolguard fleet policy check ops.toml", "toolguard fleet policy push ops.toml"),
)
def group() -> None:
    """Check, push, compare and show the signed policy of a team.

    A policy states who must approve which calls, and can contain rules. Gateways accept only a policy that an admin signed,
    and never a lower version than the one they have.
    """


@command(app, "toolguard fleet policy check ops.toml", name="check")
def check(file: PolicyFile) -> Result:
    """Check a policy and the examples of its rules. Does not contact the database."""
    try:
        policy = team_policy.read(file)
    except InvalidRulesError as error:
        return team_policy.invalid("fleet policy check", error)
    lines = (Line("ok", f"{printable.plain(str(file))} is valid"), *team_policy.summary(policy))
    return Result("fleet policy check", {"file": str(file), **team_policy.data(policy)}, lines)


@command(app, "toolguard fleet policy push ops.toml", "toolguard fleet policy push ops.toml --key ~/.ssh/admin", name="push")
def push(places: Places, file: PolicyFile, *, key: SigningKey = "", trust: Trust = None, dsn: Dsn = "") -> Result:
    """Sign a policy with your SSH key and activate it for its team.

    Its version must be greater than that of the previous policy. Gateways adopt it within seconds.
    """
    caller = require_human.caller(places, "fleet policy push")
    try:
        policy = team_policy.read(file)
    except InvalidRulesError as error:
        return team_policy.invalid("fleet policy push", error)
    folder = team_policy.trust_of(places, trust)
    with fleet_session.opened(places, dsn) as session:
        before = session.policy(policy.team)
        team_policy.check_version(policy, before)
        changes = team_policy.diff(team_policy.text_of(before), policy.text, ("in force", str(file)))
        caller.require(changes)
        made = team_policy.signed(policy, folder, key)
        session.push_policy(policy.team, policy.version, policy.text.encode(), made.text.encode())
    by = f", signed by {printable.plain(made.signer)}" if made.signer else ""
    lines = [Line("ok", f"version {policy.version} is in force for {_team(policy.team)}{by}"), *team_policy.summary(policy)]
    if not made.signer:
        lines.append(
            Line("warn", "allowed_signers is not on this machine, so it is unknown whether gateways accept the signature")
        )
    lines.append(Line("next", "toolguard status on a gateway shows its version, or why it rejected the policy"))
    return Result("fleet policy push", {"signer": made.signer, **team_policy.data(policy)}, tuple(lines))


@command(app, "toolguard fleet policy diff ops.toml", name="diff")
def diff(places: Places, file: PolicyFile, *, dsn: Dsn = "") -> Result:
    """Compare a policy with the one that is in force for its team."""
    try:
        policy = team_policy.read(file)
    except InvalidRulesError as error:
        return team_policy.invalid("fleet policy diff", error)
    with fleet_session.opened(places, dsn) as session:
        before = session.policy(policy.team)
    changes = team_policy.diff(team_policy.text_of(before), policy.text, ("in force", str(file)))
    lines = [Line("info", line) for line in changes] or [Line("ok", "there are no differences")]
    try:
        team_policy.check_version(policy, before if changes else None)
    except UserError as error:
        lines += [Line("warn", error.message), Line("next", error.fix)]
    data = {"team": policy.team, "version": policy.version, "inForce": before.version if before else 0, "diff": changes}
    return Result("fleet policy diff", data, tuple(lines))


@command(app, "toolguard fleet policy show --team ops", "toolguard fleet policy show --version 3 --json", name="show")
def show(
    places: Places,
    *,
    team: Annotated[str, typer.Option("--team", help="The team (default: that of this gateway).", show_default=False)] = "",
    version: Annotated[int, typer.Option("--version", min=0, help="0 means the latest.")] = 0,
    trust: Trust = None,
    dsn: Dsn = "",
) -> Result:
    """Show the policy of a team, and who signed it.

    Also shows whether gateways accept the signature, and the version that is in force on this gateway.
    """
    name = team_policy.team_of(places, team)
    with fleet_session.opened(places, dsn) as session:
        policy = session.policy(name, version or None)
    if policy is None:
        lines = [Line("info", f"{_team(name)} has no {'such ' if version else ''}policy: one approval is enough")]
        return Result("fleet policy show", {"team": name, "policy": None}, (*lines, *_here(places)))
    text = team_policy.text_of(policy)
    by = printable.plain(policy.by)
    lines = [Line("info", f"version {policy.version} for {_team(name)}, pushed by {by} at {printable.moment(policy.at)}")]
    signer = ""
    try:
        signer = team_policy.verified(text, policy.signature.decode("ascii", "replace"), team_policy.trust_of(places, trust))
        lines.append(Line("ok", f"signed by {printable.plain(signer)}"))
    except UserError as error:
        lines += [Line("warn", error.message)]
    lines += [Line("info", printable.plain(line)) for line in text.splitlines()]
    shown = {"team": name, "version": policy.version, "by": policy.by, "pushed": policy.at, "signer": signer, "toml": text}
    return Result("fleet policy show", {"team": name, "policy": dated(shown, "pushed")}, (*lines, *_here(places)))


def _here(places: Places) -> list[Line]:
    """What counts on this machine, if it is a gateway of the fleet."""
    if not fleet_settings(places).enabled:
        return []
    try:
        kept = team_policy.kept_here(places)
    except UserError as error:
        return [Line("error", error.message), Line("next", error.fix)]
    if kept is None:
        return [Line("info", "no policy is in force on this gateway")]
    signer = printable.plain(kept.signer)
    return [Line("info", f"version {kept.policy.version} is in force on this gateway, signed by {signer}")]


def _team(name: str) -> str:
    return "all teams without a policy of their own" if name == "*" else f"the team {printable.plain(name)}"
