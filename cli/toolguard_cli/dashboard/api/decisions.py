"""Approves and denies held calls, as the commands do."""

from __future__ import annotations

import time

from toolguard_cli.approvals import held_calls
from toolguard_cli.dashboard import agent_requests, known_gateways
from toolguard_cli.dashboard.api_types import ActionResult, AllowRequest, DecisionRequest
from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.request_context import RequestContext
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import always_allow, answer_for_session, approve_call, deny_call, woken_agents
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import replies, session_grant
from toolguard_engine.approvals.ledger import Decision, HeldCall, RefusedError
from toolguard_engine.config.settings import Config
from toolguard_engine.stores.ports import HeldCallStore

PLACE = "dashboard"


@agent_requests.refused
def approve(visit: RequestContext, asked: DecisionRequest) -> ActionResult:
    watched = known_gateways.named(visit, asked.gateway)
    refuse_gone(watched)
    config = gateway_stores.settings(watched.places)
    decision = gateway_stores.decision(asked.why, PLACE)
    ledger = watched.ledger()
    entry, message = approve_call.approve(watched.places, ledger, asked.nonce, decision, config, unseen=asked.unseen)
    return ActionResult(f"{message}; {woken_agents.followed(watched.places, ledger, entry, config)[1].text}")


@agent_requests.refused
def allow(visit: RequestContext, asked: AllowRequest) -> ActionResult:
    """Approves the call, and allows exactly this call for a while, or the calls like it for the rest of the session."""
    watched = known_gateways.named(visit, asked.gateway)
    refuse_gone(watched)
    config, ledger = gateway_stores.settings(watched.places), watched.ledger()
    entry = held_calls.find(ledger.entries(), asked.nonce, time.time(), "pending")
    decision = gateway_stores.decision(asked.why, PLACE)
    approved, message = _allowed(watched.places, ledger, entry, asked.period, decision, config)
    return ActionResult(f"{message}; {woken_agents.followed(watched.places, ledger, approved, config)[1].text}")


def _allowed(
    places: Places, ledger: HeldCallStore, entry: HeldCall, period: str, decision: Decision, config: Config
) -> tuple[HeldCall, str]:
    if period == session_grant.PERIOD:
        approved, _, message = answer_for_session.answer(places, ledger, entry, decision, config)
    else:
        approved, _, message = always_allow.always_allow(places, ledger, entry, period, decision, config)
    return approved, message


def deny(visit: RequestContext, asked: DecisionRequest) -> ActionResult:
    watched = known_gateways.named(visit, asked.gateway)
    refuse_gone(watched)
    config = gateway_stores.settings(watched.places)
    try:
        _, text = deny_call.deny(watched.ledger(), asked.nonce, gateway_stores.decision(asked.why, PLACE), config)
    except RefusedError as refused:
        if refused.cause != "used" or refused.entry is None:
            raise
        late = replies.too_late(refused.entry)
        raise ApiError(409, refused.cause, late.text, late.fix) from refused
    return ActionResult(text)


def refuse_gone(watched: known_gateways.WatchedGateway) -> None:
    if held_calls.never_been(watched.places):
        raise UserError(held_calls.nowhere(watched.places), "is this gateway still installed? run toolguard doctor")
