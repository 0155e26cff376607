"""Held calls that are over: answered, or missed and perhaps revived."""

from __future__ import annotations

import time

from msgspec import structs

from toolguard_cli.dashboard import agent_requests, known_gateways
from toolguard_cli.dashboard.api import waiting_calls
from toolguard_cli.dashboard.api.decisions import PLACE, refuse_gone
from toolguard_cli.dashboard.api_types import ActionResult, NonceRequest, SettledCall, SettledCalls
from toolguard_cli.dashboard.known_gateways import WatchedGateway
from toolguard_cli.dashboard.request_context import Query, RequestContext
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import missed_calls
from toolguard_cli.system.errors import UserError
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import LAPSED, OPEN, REVIVED, HeldCall, is_lapsed
from toolguard_engine.stores.undo import undo_notes

MAX_SETTLED = 200
MISSED = ("missed", "lapsed")


def settled(visit: RequestContext, asked: Query) -> SettledCalls:
    """The newest first. Files that cannot be read are reported with the held calls."""
    del asked
    gateways, problems = known_gateways.watched(visit)
    over = list[SettledCall]()
    for gateway in gateways:
        try:
            with gateway_stores.user_errors():
                over += _of(gateway, time.time())
        except (UserError, OSError) as error:
            problems = [*problems, waiting_calls.described(gateway, error)]
    newest = sorted(over, key=lambda one: (-one.decided, one.nonce))
    missed = [one for one in newest if one.status in MISSED]
    rest = [one for one in newest if one.status not in MISSED]
    shown = sorted([*missed[:MAX_SETTLED], *rest[:MAX_SETTLED]], key=lambda one: (-one.decided, one.nonce))
    return SettledCalls(visit.now, shown, len(missed), problems)


@agent_requests.refused
def revive(visit: RequestContext, asked: NonceRequest) -> ActionResult:
    watched = known_gateways.named(visit, asked.gateway)
    refuse_gone(watched)
    decision = gateway_stores.decision(asked.why, PLACE)
    return ActionResult(missed_calls.revive(watched.ledger(), asked.nonce, decision)[1])


def _of(watched: WatchedGateway, now: float) -> list[SettledCall]:
    entries = replies.now_known(waiting_calls.read(watched)[0], now).entries
    missed = {entry.nonce for entry in missed_calls.missed(entries, now)}
    return [_view(watched, entry, missed) for entry in entries if entry.status not in OPEN]


def _view(watched: WatchedGateway, entry: HeldCall, missed: set[str]) -> SettledCall:
    same = {name: value for name, value in structs.asdict(entry).items() if name in SettledCall.__struct_fields__}
    times = {"created": int(entry.created * 1_000), "decided": int(entry.decided * 1_000)}
    undo = undo_notes.offer(watched.places.state_dir, entry.nonce) if entry.status == "used" else ""
    return SettledCall(**{**same, **times, "status": _status(entry, missed), "gateway": watched.id, "undo": undo})


def _status(entry: HeldCall, missed: set[str]) -> str:
    if entry.status != "expired":
        return entry.status
    if entry.nonce in missed:
        return "lapsed" if is_lapsed(entry) else "missed"
    if entry.why == REVIVED:
        return "revived"
    return "unused" if entry.by and entry.why != LAPSED else "expired"
