"""`toolguard fleet approve`: lets a held call of any gateway run once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from toolguard_cli.approvals.held_calls import CallToRead
from toolguard_cli.commands import team_policy
from toolguard_cli.commands.command_options import Reason, SigningKey, Yes, command, command_app
from toolguard_cli.commands.fleet_commands import Dsn
from toolguard_cli.fleet import fleet_decisions, fleet_session, gateway_answer
from toolguard_cli.fleet.gateway_answer import GatewayAnswer
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.approvals.ledger import RefusedError
from toolguard_engine.wording import printable

FleetNonce = Annotated[
    str, typer.Argument(metavar="NONCE", help="The nonce, or at least its first 4 characters.", show_default=False)
]
Unseen = Annotated[bool, typer.Option("--unseen", help="Approve even if not all of the call can be shown.")]

app = command_app()


@dataclass(frozen=True)
class FleetAnswers:
    """What was given on the command line."""

    yes: bool = False
    unseen: bool = False
    key: str = ""
    reason: str = ""
    dsn: str = ""
    as_json: bool = False
    waits: bool = True


@command(app, "toolguard fleet approve 3f9a51c2d07b", "toolguard fleet approve 3f9a --key ~/.ssh/id_ed25519_sk")
def run(  # noqa: PLR0913 - the options of a command line
    places: Places,
    nonce: FleetNonce,
    *,
    yes: Yes = False,
    unseen: Unseen = False,
    key: SigningKey = "",
    reason: Reason = "",
    gateway: Annotated[str, typer.Option("--gateway", metavar="ID", help="Only a call on this gateway.")] = "",
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait for what the gateway makes of it.")] = False,
    dsn: Dsn = "",
    as_json: bool = False,
) -> Result:
    """Let a held call on any of your teams' gateways run once.

    Shows the call and asks for confirmation, then signs the approval with your SSH key. The gateway verifies the signature
    itself, and its answer is shown (exit code 1 if it rejects the approval). You can do this on a machine that has no
    gateway. An approval that was rejected can be signed again while the call waits.
    """
    return approve(places, nonce, FleetAnswers(yes, unseen, key, reason, dsn, as_json, not no_wait), gateway)


def approve(places: Places, nonce: str, given: FleetAnswers, gateway: str = "") -> Result:
    """`gateway`: only a call of this one."""
    caller = require_human.caller(places, "fleet approve")
    with fleet_session.opened(places, given.dsn) as session:
        call = fleet_decisions.find(session.waiting(), nonce, gateway)
        if not fleet_decisions.may_sign(call.row):
            raise RefusedError(call.row.status, call.entry)
        if not (call.entry.whole or given.unseen):
            raise RefusedError("unseen", call.entry)
        if not _agreed(caller, fleet_decisions.details(call), given):
            line = Line("info", f"{call.row.nonce} was not approved; it is still waiting")
            return Result("fleet approve", {"nonce": call.row.nonce}, (line,), 1)
        since = session.whoami().server_time
        row, message = fleet_decisions.approve(
            session, call, given.key, given.reason, trust=team_policy.trust_of(places, None)
        )
        waits = given.waits and row.status == "approved"
        answer = gateway_answer.wait_for(session, row, since) if waits else None
    data = fleet_decisions.public(fleet_decisions.ShownCall(row, call.entry))
    if row.status != "approved":
        return Result("fleet approve", data, (Line("ok", message), Line("info", printable.plain(call.entry.shown))))
    return _answered(row.nonce, data, answer, message, printable.plain(call.entry.shown))


def _answered(nonce: str, data: dict[str, Any], answer: GatewayAnswer | None, message: str, shown: str) -> Result:
    """The database has what it needs; only its gateway knows whether the signatures count."""
    outcome = "" if answer is None else "accepted" if answer.accepted else "rejected"
    data = {**data, "gatewayAnswer": outcome, "gatewayReason": answer.why if answer else ""}
    if answer is None:
        stored = (
            Line("info", f"your approval of {nonce} is stored; its gateway has not said yet whether it counts"),
            Line("info", shown),
            Line("next", f"toolguard fleet audit show --nonce {nonce}"),
        )
        return Result("fleet approve", data, stored)
    if answer.accepted:
        return Result("fleet approve", data, (Line("ok", message), Line("info", shown)))
    rejected = (
        Line("error", f"the gateway rejected the approval of {nonce}: {answer.why}"),
        Line("next", f"sign it again with a key that the gateway trusts: toolguard fleet approve {nonce} --key FILE"),
    )
    return Result("fleet approve", data, rejected, 1)


def _agreed(caller: require_human.Caller, shown: CallToRead, given: FleetAnswers) -> bool:
    if caller.doubt:
        return caller.confirm(shown.all)
    return given.yes or confirm.confirm(
        shown.lines, "Approve?", as_json=given.as_json, whole=shown.whole, needed=shown.needed
    )
