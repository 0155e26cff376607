"""`toolguard deny`: refuses a held call, or withdraws an unused approval."""

from __future__ import annotations

import shlex
import time
from typing import Annotated

import typer

from toolguard_cli.approvals import held_calls, only_waiting
from toolguard_cli.commands.command_options import Nonce, Reason, command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import deny_call
from toolguard_cli.person import require_human
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm as asking
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.approvals import repeatable_calls, replies
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import HeldCall, RefusedError
from toolguard_engine.stores import open as stores
from toolguard_engine.wording import printable

app = command_app()


@command(app, "toolguard deny", "toolguard deny 3f9a", "toolguard deny 3f9a --reason 'not on this host'")
def run(
    places: Places,
    nonce: Nonce = "",
    *,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask for confirmation when no nonce is given.")] = False,
    reason: Reason = "",
    as_json: bool = False,
) -> Result:
    """Deny a held call, or withdraw an unused approval.

    Without a nonce, shows the call and asks for confirmation.
    """
    require_human.refuse(places, "deny", loosens=False)
    with gateway_stores.user_errors(), held_calls.looked_up(places):
        asks = not (nonce or yes)
        if not nonce:
            entries = gateway_stores.nonces(places, gateway_stores.settings(places)).entries()
            nonce = only_waiting.choose(places, entries, "deny", as_json=as_json).nonce
        return answered(places, nonce, reason, asks=asks, as_json=as_json)


def answered(places: Places, nonce: str, reason: str, *, asks: bool, as_json: bool) -> Result:
    """Denies the call; with `asks` it was chosen from a list, so it is shown and asked about first."""
    config = gateway_stores.settings(places)
    try:
        ledger, decision = gateway_stores.nonces(places, config), gateway_stores.decision(reason)
        if asks and not _agreed(held_calls.find(ledger.entries(), nonce, time.time(), "pending"), as_json=as_json):
            waits = Line("info", f"{nonce} was not denied; it is still waiting")
            return Result("deny", {"nonce": nonce}, (waits,), 1)
        entry, message = deny_call.deny(ledger, nonce, decision, config)
    except RefusedError as refused:
        if refused.cause != "used" or refused.entry is None:
            raise
        late = replies.too_late(refused.entry)
        raise UserError(late.text, late.fix) from refused
    lines = (Line("ok", message), Line("info", printable.plain(entry.shown)), *_still_granted(places, entry))
    return Result("deny", held_calls.public(entry, time.time()), lines)


def _agreed(shown: HeldCall, *, as_json: bool) -> bool:
    call = held_calls.shown(shown, time.time())
    return asking.confirm(call.lines, "Deny?", as_json=as_json, whole=call.whole)


def _still_granted(places: Places, entry: HeldCall) -> list[Line]:
    """What is said about grants for exactly this call, for example of `approve --for`: they outlast its denial."""
    narrow = repeatable_calls.narrow_grant(entry).grant
    with gateway_stores.user_errors():
        active = stores.grants(places.state_dir).active(time.time())
    same = [grant.id for grant in active if narrow is not None and _terms(grant) == _terms(narrow)]
    return [
        line
        for signature in same
        for line in (
            Line("warn", f"the grant {signature} still allows this call when the agent makes it again"),
            Line("next", shlex.join(["toolguard", "revoke", signature, *places.given])),
        )
    ]


def _terms(grant: Grant) -> tuple[str, str, str, dict[str, str], str]:
    return grant.tool, grant.pattern, grant.agent, grant.params, grant.cwd
