"""Records external decisions in the gateway's audit log, from which they reach the feed."""

from __future__ import annotations

import secrets
import time

from toolguard_cli.approvals import held_calls
from toolguard_cli.dashboard import known_gateways
from toolguard_cli.dashboard.api.decisions import PLACE
from toolguard_cli.dashboard.api_types import ActionResult, Reported
from toolguard_cli.dashboard.request_context import RequestContext
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.system.errors import UserError
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores

MAX_NAME = 200
MAX_SHOWN = 600


def report(visit: RequestContext, reported: Reported) -> ActionResult:
    watched = known_gateways.named(visit, reported.gateway)
    if held_calls.never_been(watched.places):
        raise UserError(held_calls.nowhere(watched.places), "is this gateway still installed? run toolguard doctor")
    stores.audit_log(watched.places.state_dir).append([_event(reported)])
    return ActionResult(f"noted: {reported.decision}")


def _event(reported: Reported) -> audit_log.AuditEvent:
    return audit_log.AuditEvent(
        id=secrets.token_hex(8),
        time=audit_log.when(time.time()),
        event="external",
        code=audit_log.plain(reported.code, MAX_NAME) or f"external.{reported.decision}",
        tool=audit_log.plain(reported.tool, MAX_NAME),
        agent=audit_log.plain(reported.agent, MAX_NAME),
        session=audit_log.plain(reported.session),
        by=gateway_stores.who(),
        where=PLACE,
        why=reported.decision,
        reason=audit_log.plain(reported.reason),
        shown=audit_log.plain(reported.shown, MAX_SHOWN),
    )
