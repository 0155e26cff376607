"""Changes to a gateway: mode, kill switch, budgets, accepted settings."""

from __future__ import annotations

from msgspec import structs

from toolguard_cli.dashboard import agent_requests, known_gateways
from toolguard_cli.dashboard.api import gateway_state
from toolguard_cli.dashboard.api.decisions import PLACE
from toolguard_cli.dashboard.api_types import ChangeRequest, GatewayStatus, Refill
from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.request_context import Query, RequestContext
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import change_setting as config_change
from toolguard_cli.operations import refill_budgets
from toolguard_cli.operations import set_kill_switch as killswitch
from toolguard_cli.operations import set_setting as config_set
from toolguard_cli.policy import accepted_view
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line
from toolguard_engine.stores.accepted_settings import mark

NOTED = ("warn", "error")
"""Kinds of command output that are returned as notes."""
CHANGES = ("mode", "killSwitch", "checkpoint", "accept")
_ONE = f"give exactly one of {', '.join(CHANGES)}"


@agent_requests.refused
def change(visit: RequestContext, asked: ChangeRequest) -> GatewayStatus:
    if (
        sum(setting_change is not None for setting_change in (asked.mode, asked.kill_switch, asked.checkpoint, asked.accept))
        != 1
    ):
        raise ApiError(422, "values", _ONE)
    places = known_gateways.named(visit, asked.gateway).places
    if asked.mode is not None:
        lines = list(
            config_set.run(places, "mode", asked.mode, config_change.ChangeOptions(vouched=True, where=PLACE)).lines
        )
    elif asked.kill_switch is not None:
        lines = _switch(places, asked.why, on=asked.kill_switch)
    elif asked.accept is not None:
        lines = _accept(places, asked.accept, asked.why)
    else:
        lines = _refill(places, asked.checkpoint or Refill())
    notes = [line.text for line in lines if line.kind in NOTED]
    return structs.replace(gateway_state.state(visit, Query()), notes=notes)


def _switch(places: Places, why: str, *, on: bool) -> list[Line]:
    _, lines = killswitch.throw(places, "on" if on else "off", why, PLACE)
    return [*lines, *(killswitch.unguarded(places) if on else [])]


def _accept(places: Places, seen: str, why: str) -> list[Line]:
    """Accepts exactly what the page showed; nothing if other settings became weaker since."""
    with gateway_stores.user_errors():
        notices = accepted_view.load(places)
        if mark(notices) != seen:
            raise ApiError(409, "changed", "other settings became weaker in the meantime", "check them again, then accept")
        accepted_view.accept(places, notices, gateway_stores.decision(why, PLACE))
    return []


def _refill(places: Places, whose: Refill) -> list[Line]:
    chosen = refill_budgets.Chosen() if whose.all else refill_budgets.Chosen(whose.agent, whose.session, exact=True)
    return refill_budgets.refill(places, chosen, PLACE)[1]
