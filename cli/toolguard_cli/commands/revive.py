"""`toolguard revive`: asks an agent again whose held call expired before anybody answered, or did not run though
approved."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from toolguard_cli.approvals import held_calls
from toolguard_cli.commands.command_options import MissedNonce, Reason, Yes, command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import missed_calls, reload_note, woken_agents
from toolguard_cli.person import require_human
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm as asking
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

LOCAL_NONCE = 8
"""The length of nonces on this machine; those of a fleet are longer."""

app = command_app()


@command(app, "toolguard revive 3f9a", "toolguard revive 3f9a --approve")
def run(
    places: Places,
    nonce: MissedNonce,
    *,
    approve: Annotated[bool, typer.Option("--approve", help="Also approve exactly this call, once.")] = False,
    yes: Yes = False,
    unseen: Annotated[bool, typer.Option("--unseen", help="Approve even if not all of the call can be shown.")] = False,
    reason: Reason = "",
    as_json: bool = False,
) -> Result:
    """Ask an agent to retry a call that expired unanswered or whose approval lapsed.

    The call does not run by itself: the agent is notified and can make it again; it is then held again. With --approve,
    the call is shown and approved now, and the agent may repeat exactly this call within the approval window.
    """
    caller = require_human.caller(places, "revive", loosens=approve)
    with gateway_stores.user_errors(), held_calls.looked_up(places):
        config, decision = gateway_stores.settings(places), gateway_stores.decision(reason)
        ledger = gateway_stores.nonces(places, config)
        shown = held_calls.find(ledger.entries(), nonce, time.time(), "expired")
        if config.fleet.enabled and len(shown.nonce) > LOCAL_NONCE:
            return _in_fleet(places, shown.nonce, reason, approve=approve)
        if not approve:
            entry, message = missed_calls.revive(ledger, shown.nonce, decision)
        elif _agreed(caller, shown, yes=yes, as_json=as_json):
            entry, message = missed_calls.revive_approved(places, ledger, shown.nonce, decision, config, unseen=unseen)
        else:
            return Result("revive", {"nonce": shown.nonce}, (Line("info", f"{shown.nonce} was not revived"),), 1)
    if approve:
        entry, woken = woken_agents.followed(places, ledger, entry, config)
    else:
        woken = _woken(places)
    lines = (Line("ok", message), Line("info", printable.plain(entry.shown)), woken)
    return Result("revive", held_calls.public(entry, time.time()), lines)


def _in_fleet(places: Places, nonce: str, reason: str, *, approve: bool) -> Result:
    """A call of the fleet's database is revived with the person's own login."""
    from toolguard_cli.commands import fleet_revive  # noqa: PLC0415 - only in a fleet
    from toolguard_engine.stores.fleet import fleet_identity  # noqa: PLC0415 - as above

    if approve:
        fix = f"toolguard revive {nonce}, then toolguard approve when the agent has made the call again"
        raise UserError(f"{nonce} cannot be revived and approved in one step: the signature names the new nonce", fix)
    return fleet_revive.revive(places, nonce, reason, gateway=fleet_identity.load(places.state_dir).id)


def _agreed(caller: require_human.Caller, shown: HeldCall, *, yes: bool, as_json: bool) -> bool:
    if yes and not caller.doubt:
        return True
    call = held_calls.shown(shown, time.time())
    if caller.doubt:
        return caller.confirm(call.all)
    return asking.confirm(call.lines, "Revive and approve?", as_json=as_json, whole=call.whole, needed=call.needed)


def _woken(places: Places) -> Line:
    try:
        running = reload_note.is_gateway_running(places)
    except (StoreError, OSError) as error:  # the call is revived all the same
        text = f"cannot tell whether the agent was woken ({error}); if it does not continue, tell it to make the call again"
        return Line("warn", printable.plain(text))
    if running:
        return Line("next", "the agent is woken; if it does not continue on its own, tell it to make the call again")
    return Line(
        "warn", "no gateway runs here, so the agent is not woken; start the gateway, then tell it to make the call again"
    )
