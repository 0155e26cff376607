"""`toolguard approve`: lets one held call run once."""

from __future__ import annotations

import time
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolguard_cli.approvals import held_calls, only_waiting
from toolguard_cli.commands.command_options import Key, Nonce, Reason, Yes, command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import approve_call, woken_agents
from toolguard_cli.person import require_human
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm as asking
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import MAX_APPROVED, Decision, HeldCall, RefusedError
from toolguard_engine.config.settings import Config
from toolguard_engine.wording import printable

if TYPE_CHECKING:
    from toolguard_cli.operations.sign_approval import Signing
    from toolguard_engine.approvals.grant_record import Grant
    from toolguard_engine.approvals.session_grant_record import SessionGrant
    from toolguard_engine.stores.ports import HeldCallStore

LOCAL_NONCE = 8
"""The length of nonces on this machine; those of a fleet are longer."""

app = command_app()


@command(
    app,
    "toolguard approve",
    "toolguard approve 3f9a",
    "toolguard approve 3f9a --for 1d",
    "toolguard approve 3f9a --session",
    "toolguard approve 3f9a51c2 --yes --reason 'release day'",
)
def run(  # noqa: PLR0913 - the options of a command line
    places: Places,
    nonce: Nonce = "",
    *,
    yes: Yes = False,
    unseen: Annotated[bool, typer.Option("--unseen", help="Approve even if not all of the call can be shown.")] = False,
    lasts: Annotated[
        str, typer.Option("--for", metavar="1h|8h|1d|7d", help="Also allow exactly this call for that long without asking.")
    ] = "",
    session: Annotated[
        bool, typer.Option("--session", help="Also allow the next calls like it in this session, for up to 8 hours.")
    ] = False,
    reason: Reason = "",
    key: Key = "",
    as_json: bool = False,
) -> Result:
    """Let a held call run once.

    Shows the call and asks for confirmation. Without a nonce, the command uses the only waiting call or lets you choose
    one, and asks for confirmation even with --yes. The agent may then repeat exactly this call within the approval
    window (30 s by default, not counting the time it is at work; see approvalWindowMs). If approval.signers is set, the
    approval is signed with an allowed SSH key from your SSH agent or ~/.ssh; --key or TOOLGUARD_SIGNING_KEY selects another
    key. With --for, exactly this call is also allowed for that long without asking, unless the same command could have a
    different effect later. With --session, so are calls like it by the same agent in this session: the same rules, about
    the same path, address or program. What that is, is shown first; it ends with the session or after 8 hours.
    """
    if session and lasts:
        raise typer.BadParameter("cannot be combined with --for", param_hint="--session")
    caller = require_human.caller(places, "approve")
    with gateway_stores.user_errors(), held_calls.looked_up(places):
        config = gateway_stores.settings(places)
        ledger = gateway_stores.nonces(places, config)
        if not nonce:
            yes = False  # it says yes to a call that was named: another one may wait by now
            choice = only_waiting.choose(places, ledger.entries(), "approve", as_json=as_json)
            nonce = choice.nonce
            if choice.command == "deny":
                return _denied(places, nonce, reason, as_json=as_json)
        shown = held_calls.find(ledger.entries(), nonce, time.time(), "pending")  # from here on, the whole nonce counts
        if config.fleet.enabled and len(shown.nonce) > LOCAL_NONCE:
            if lasts or session:
                option = "--for" if lasts else "--session"
                raise UserError(
                    "in a fleet, a call can only be approved once", f"toolguard approve {shown.nonce} without {option}"
                )
            answers = _fleet_answers(yes=yes, unseen=unseen, key=key, reason=reason, as_json=as_json)
            return _in_fleet(places, shown.nonce, answers)
        if not (shown.whole or unseen):
            raise RefusedError("unseen", shown)
        always = _always(shown, lasts) if lasts else _for_session(shown, config) if session else ""
        if not _agreed(caller, shown, always, yes=yes, as_json=as_json):
            return Result("approve", {"nonce": shown.nonce}, _not_approved(ledger.entries(), shown.nonce, time.time()), 1)
        if session:
            return _answered(places, ledger, shown, gateway_stores.decision(reason), config)
        decision, signing = gateway_stores.decision(reason), _signing(places, config, key)
        if lasts:
            entry, grant, message = _operation().always_allow(
                places, ledger, shown, lasts, decision, config, signing=signing
            )
            return _allowed(*woken_agents.followed(places, ledger, entry, config), grant, message)
        signed = signing.decision(shown, MAX_APPROVED) if signing else None
        entry, message = approve_call.approve(places, ledger, shown.nonce, decision, config, unseen=unseen, signed=signed)
        entry, woken = woken_agents.followed(places, ledger, entry, config)
    lines = (Line("ok", message), Line("info", printable.plain(entry.shown)), woken)
    return Result("approve", held_calls.public(entry, time.time()), lines)


def _denied(places: Places, nonce: str, reason: str, *, as_json: bool) -> Result:
    from toolguard_cli.commands import deny  # noqa: PLC0415 - as in `_operation`

    return deny.answered(places, nonce, reason, asks=True, as_json=as_json)


def _for_session(shown: HeldCall, config: Config) -> str:
    """What else would be allowed, in words. Raises `UserError`."""
    from toolguard_cli.operations import answer_for_session  # noqa: PLC0415 - as in `_operation`

    return answer_for_session.offered(shown, config)


def _answered(places: Places, ledger: HeldCallStore, shown: HeldCall, decision: Decision, config: Config) -> Result:
    from toolguard_cli.operations import answer_for_session  # noqa: PLC0415 - as in `_operation`

    entry, grant, message = answer_for_session.answer(places, ledger, shown, decision, config)
    entry, woken = woken_agents.followed(places, ledger, entry, config)
    return _allowed(entry, woken, grant, message)


def _fleet_answers(**given: Any) -> Any:
    from toolguard_cli.commands.fleet_approve import FleetAnswers  # noqa: PLC0415 - only in a fleet

    return FleetAnswers(**given)


def _in_fleet(places: Places, nonce: str, answers: Any) -> Result:
    """A held call of the fleet's database is approved with the login and the signature of the person."""
    from toolguard_cli.commands import fleet_approve  # noqa: PLC0415 - only in a fleet
    from toolguard_engine.stores.fleet import fleet_identity  # noqa: PLC0415 - as above

    return fleet_approve.approve(places, nonce, answers, gateway=fleet_identity.load(places.state_dir).id)


def _signing(places: Places, config: Config, key: str) -> Signing | None:
    if not (config.approval.is_signed or key):
        return None
    from toolguard_cli.operations import sign_approval  # noqa: PLC0415 - as below

    return sign_approval.open_signing(places, config, key)


def _operation() -> ModuleType:
    """Imported where it is needed: `approve` must start quickly."""
    from toolguard_cli.operations import always_allow  # noqa: PLC0415

    return always_allow


def _always(shown: HeldCall, lasts: str) -> str:
    """What else would be allowed, in words. Raises `UserError`."""
    return str(_operation().offered(shown, lasts))


def _allowed(entry: HeldCall, woken: Line, grant: Grant | SessionGrant, message: str) -> Result:
    lines = (
        Line("ok", message),
        Line("info", printable.plain(entry.shown)),
        woken,
        Line("next", f"toolguard revoke {grant.id} ends the permission"),
    )
    return Result("approve", {**held_calls.public(entry, time.time()), "grant": grant.id, "until": grant.expires}, lines)


def _agreed(caller: require_human.Caller, shown: HeldCall, always: str, *, yes: bool, as_json: bool) -> bool:
    if yes and not caller.doubt:
        return True  # without a look at what is on disk now, which takes time
    call = held_calls.shown(shown, time.time(), *([f"also allows {always}"] if always else []))
    if caller.doubt:
        return caller.confirm(call.all)
    return asking.confirm(call.lines, "Approve?", as_json=as_json, whole=call.whole, needed=call.needed)


def _not_approved(entries: list[HeldCall], nonce: str, now: float) -> tuple[Line, ...]:
    """The call still waits, unless somebody else decided or it expired."""
    message = Line("info", f"{nonce} was not approved")
    left = next((replies.state(entry, now) for entry in replies.waiting(entries, now) if entry.nonce == nonce), "")
    waits = Line("next", f"it is still waiting, {left}; toolguard deny {nonce} denies it")
    return (message, waits) if left else (message,)
