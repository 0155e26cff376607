"""Records external decisions in the gateway's audit log, from which they reach the feed."""

from __future__ import annotations

from toolguard_cli.dashboard import known_gateways
from toolguard_cli.dashboard.api import decisions
from toolguard_cli.dashboard.api.decisions import PLACE
from toolguard_cli.dashboard.api_types import ActionResult, Reported
from toolguard_cli.dashboard.request_context import RequestContext
from toolguard_cli.hostconfig import gateway_stores
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores

MAX_NAME = 200
MAX_SHOWN = 600


def report(visit: RequestContext, asked: Reported) -> ActionResult:
    watched = known_gateways.named(visit, asked.gateway)
    decisions.refuse_gone(watched)
    stores.audit_log(watched.places.state_dir).append([_event(asked)])
    return ActionResult(f"noted: {asked.decision}")


def _event(reported: Reported) -> audit_log.AuditEvent:
    return gateway_stores.event(
        "external",
        where=PLACE,
        code=audit_log.plain(reported.code, MAX_NAME) or f"external.{reported.decision}",
        tool=audit_log.plain(reported.tool, MAX_NAME),
        agent=audit_log.plain(reported.agent, MAX_NAME),
        session=audit_log.plain(reported.session),
        why=reported.decision,
        reason=audit_log.plain(reported.reason),
        shown=audit_log.plain(reported.shown, MAX_SHOWN),
    )
