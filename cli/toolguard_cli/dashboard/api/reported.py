"""Decisions that something else made: kept in the audit log of the gateway, from where they come into the feed."""

from __future__ import annotations

import secrets
import time

from toolguard_cli import held, stores
from toolguard_cli.dashboard import gateways
from toolguard_cli.dashboard.api.words import PLACE
from toolguard_cli.dashboard.shapes import Done, Reported
from toolguard_cli.dashboard.visit import Visit
from toolguard_cli.errors import UserError
from toolguard_engine.stores import audit

MAX_NAME = 200
MAX_SHOWN = 600


def report(visit: Visit, told: Reported) -> Done:
    watched = gateways.named(visit, told.gateway)
    if held.never_been(watched.places):
        raise UserError(held.nowhere(watched.places), "is this gateway still installed? toolguard doctor looks at it")
    audit.AuditLog(watched.places.state_dir).append([_event(told)])
    return Done(f"noted: {told.decision}")


def _event(told: Reported) -> audit.Event:
    return audit.Event(
        id=secrets.token_hex(8),
        time=audit.when(time.time()),
        event="external",
        code=audit.plain(told.code, MAX_NAME) or f"external.{told.decision}",
        tool=audit.plain(told.tool, MAX_NAME),
        agent=audit.plain(told.agent, MAX_NAME),
        session=audit.plain(told.session),
        by=stores.who(),
        where=PLACE,
        why=told.decision,
        reason=audit.plain(told.reason),
        shown=audit.plain(told.shown, MAX_SHOWN),
    )
