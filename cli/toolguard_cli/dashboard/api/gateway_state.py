"""The current state of the gateways: mode, kill switch, budgets, trust, drift."""

from __future__ import annotations

import os
import time
from contextlib import closing

from toolguard_cli.approvals import budgets
from toolguard_cli.dashboard import known_gateways
from toolguard_cli.dashboard.api import protection
from toolguard_cli.dashboard.api.waiting_calls import described
from toolguard_cli.dashboard.api_types import GatewayState, GatewayStatus, StandingView, Switch, Weakened
from toolguard_cli.dashboard.known_gateways import WatchedGateway
from toolguard_cli.dashboard.request_context import Query, RequestContext
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import contained_lines, guard_proof
from toolguard_cli.policy import accepted_view
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.gateway_processes import MachineView
from toolguard_engine import __version__
from toolguard_engine.approvals import standing
from toolguard_engine.config.settings import Config
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.accepted_settings import Notice, mark
from toolguard_engine.wording import printable

MAX_STANDINGS = 200
MAX_WEAKENED = 1_000
RECENT_SECONDS = 86_400.0


def state(visit: RequestContext, asked: Query) -> GatewayStatus:
    del asked
    gateways, problems = known_gateways.watched(visit)
    machine = protection.MachineSnapshot()
    return GatewayStatus(
        visit.now, __version__, visit.trusted, [_gateway(gateway, problems, machine) for gateway in gateways], []
    )


def _gateway(watched: WatchedGateway, problems: list[str], machine: MachineView) -> GatewayState:
    config, wrong = budgets.settings(watched.places), budgets.invalid(watched.places)
    problems = [*problems, *([printable.plain(f"the settings are invalid: {wrong}")] if wrong else [])]
    if not os.path.isdir(watched.places.state_dir):  # noqa: PTH112 - this one never raises
        problems.append(printable.plain(f"{watched.places.state_dir} is gone"))
    known: list[standing.Standing] = []
    try:
        with gateway_stores.user_errors(), closing(stores.standings(watched.places.state_dir, patient=True)) as store:
            known = store.look()
    except (UserError, OSError) as error:
        problems.append(described(watched, error))
    weaker = accepted_view.look(watched.places)
    problems += [f"cannot check for weaker settings: {weaker.problem}"] if weaker.problem else []
    running, thrown = stores.engines(watched.places.state_dir).running(), _switch(watched)
    if why := contained_lines.fault(running):
        problems.append(f"commands are not contained: {why[0]} ({why[1]})")
    if cause := contained_lines.unrehearsed(running):
        problems.append(contained_lines.NOT_REHEARSED.format(why=cause))
    return GatewayState(
        id=watched.id,
        protection=protection.describe(guard_proof.look(watched.places, machine), thrown),
        running=bool(running),
        recording=watched.known is not None and config.is_measured,
        mode=config.active_mode,
        kill_switch=thrown,
        standings=[_standing(other_standing, config) for other_standing in _shown(known, config)],
        weakened=[_weakened(notice) for notice in weaker.notices[:MAX_WEAKENED]],
        weakened_mark=mark(weaker.notices) if weaker.notices else "",
        host=watched.known.host if watched.known else "",
        version=watched.known.version if watched.known else "",
        problems=problems,
    )


def _weakened(notice: Notice) -> Weakened:
    return Weakened(notice.setting, printable.plain(notice.text), protection.since(notice.since))


def _switch(watched: WatchedGateway) -> Switch | None:
    thrown = stores.kill_switch(watched.places.state_dir).thrown()
    if thrown is None:
        return None
    return Switch(protection.since(thrown.at), printable.cut(thrown.by, 100), printable.cut(thrown.why, 300))


def _shown(known: list[standing.Standing], config: Config) -> list[standing.Standing]:
    """Sessions that need attention, then recently active ones, even with a full budget."""
    first = budgets.worth_a_look(known, config)
    keys, since = {other_standing.key for other_standing in first}, time.time() - RECENT_SECONDS
    rest = [other_standing for other_standing in known if other_standing.key not in keys and other_standing.touched > since]
    return [*first, *sorted(rest, key=lambda other_standing: -other_standing.touched)][:MAX_STANDINGS]


def _standing(state: standing.Standing, config: Config) -> StandingView:
    own = config.for_agent(state.agent)
    return StandingView(
        agent=state.agent,
        session=state.session,
        spent=state.spent,
        left=budgets.left(state, config),
        size=own.budget.size,
        trust=state.trust,
        mode=own.active_budget_mode,
        signals=[budgets.cause(code, own.budget) for code in state.reported],
        waits=budgets.waits(state, config),
        touched=int(state.touched * 1_000),
    )
