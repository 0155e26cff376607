"""How the gateways stand now: mode, kill switch, budgets, trust, drift."""

from __future__ import annotations

import os
import time
from contextlib import closing

from toolguard_cli import budgets, stores, weakenings
from toolguard_cli.dashboard import gateways
from toolguard_cli.dashboard.api.pending import said
from toolguard_cli.dashboard.gateways import Watched
from toolguard_cli.dashboard.shapes import GatewayState, Standing, State, Switch, Weakened
from toolguard_cli.dashboard.visit import Query, Visit
from toolguard_cli.errors import UserError
from toolguard_engine import __version__, answers, standing
from toolguard_engine.config import Config
from toolguard_engine.stores import engines
from toolguard_engine.stores.accepted import Notice, mark
from toolguard_engine.stores.killswitch import KillSwitch
from toolguard_engine.stores.standings import FileStandings

MAX_STANDINGS = 200
MAX_WEAKENED = 1_000
RECENT_SECONDS = 86_400.0
LATEST = 1e11
"""Seconds since 1970; later is no time."""


def state(visit: Visit, asked: Query) -> State:
    del asked
    found, problems = gateways.watched(visit)
    return State(visit.now, __version__, visit.trusted, [_gateway(each, problems) for each in found], [])


def _gateway(watched: Watched, problems: list[str]) -> GatewayState:
    config, wrong = budgets.settings(watched.places), budgets.invalid(watched.places)
    problems = [*problems, *([answers.plain(f"the settings are invalid: {wrong}")] if wrong else [])]
    if not os.path.isdir(watched.places.state_dir):  # noqa: PTH112 - this one never raises
        problems.append(answers.plain(f"{watched.places.state_dir} is gone"))
    known: list[standing.Standing] = []
    try:
        with stores.told(), closing(FileStandings(watched.places.state_dir, patient=True)) as store:
            known = store.look()
    except (UserError, OSError) as error:
        problems.append(said(watched, error))
    weaker = weakenings.look(watched.places)
    problems += [f"whether settings became weaker cannot be told: {weaker.problem}"] if weaker.problem else []
    return GatewayState(
        id=watched.id,
        running=bool(engines.running(watched.places.state_dir)),
        recording=watched.known is not None and config.metrics.enabled,
        mode=config.active_mode,
        kill_switch=_switch(watched),
        standings=[_standing(each, config) for each in _looked_at(known, config)],
        weakened=[_weakened(each) for each in weaker.notices[:MAX_WEAKENED]],
        weakened_mark=mark(weaker.notices) if weaker.notices else "",
        host=watched.known.host if watched.known else "",
        version=watched.known.version if watched.known else "",
        problems=problems,
    )


def _weakened(notice: Notice) -> Weakened:
    since = int(notice.since * 1_000) if 0 < notice.since < LATEST else 0
    return Weakened(notice.setting, answers.plain(notice.text), since)


def _switch(watched: Watched) -> Switch | None:
    thrown = KillSwitch(watched.places.state_dir).thrown()
    if thrown is None:
        return None
    at = int(thrown.at * 1_000) if 0 < thrown.at < LATEST else 0
    return Switch(at, answers.cut(thrown.by, 100), answers.cut(thrown.why, 300))


def _looked_at(known: list[standing.Standing], config: Config) -> list[standing.Standing]:
    """Those worth a look, then those that did something of late: one with a full budget is still there."""
    first = budgets.worth_a_look(known, config)
    keys, since = {each.key for each in first}, time.time() - RECENT_SECONDS
    rest = [each for each in known if each.key not in keys and each.touched > since]
    return [*first, *sorted(rest, key=lambda each: -each.touched)][:MAX_STANDINGS]


def _standing(each: standing.Standing, config: Config) -> Standing:
    own = config.for_agent(each.agent)
    return Standing(
        agent=each.agent,
        session=each.session,
        spent=each.spent,
        left=budgets.left(each, config),
        size=own.budget.size,
        trust=each.trust,
        mode=own.active_budget_mode,
        signals=[budgets.cause(code, own.budget) for code in each.told],
        waits=budgets.waits(each, config),
        touched=int(each.touched * 1_000),
    )
