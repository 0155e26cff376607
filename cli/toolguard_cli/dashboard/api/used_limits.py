"""What model calls use: how far the limits of all gateways are used up, where day and month will end, what was saved."""

from __future__ import annotations

from toolguard_cli.approvals import budgets
from toolguard_cli.dashboard import known_gateways
from toolguard_cli.dashboard.api.recorded import Ranged
from toolguard_cli.dashboard.api_types import Spending
from toolguard_cli.dashboard.request_context import RequestContext
from toolguard_engine.config import spending_limits
from toolguard_engine.metrics import queries
from toolguard_engine.metrics.queries import spending


def used(visit: RequestContext, asked: Ranged) -> Spending:
    watched, _ = known_gateways.watched(visit)
    limits = [limit for gateway in watched for limit in budgets.settings(gateway.places).limits]
    with visit.metrics() as db:
        whole = queries.overview(db, asked.range, visit.now)
        uses = spending.cap_uses(db, spending_limits.caps(limits), visit.now)
        forecast = spending.forecast(db, visit.now)
    return Spending(asked.range, forecast, spending.savings(whole.guard, whole.totals), uses)
