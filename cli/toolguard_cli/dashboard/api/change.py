"""What a person changes about a gateway: its mode, its kill switch, its budgets."""

from __future__ import annotations

from toolguard_cli.commands import checkpoint, killswitch
from toolguard_cli.commands.config import change as config_change
from toolguard_cli.commands.config import set as config_set
from toolguard_cli.dashboard import gateways
from toolguard_cli.dashboard.api import state
from toolguard_cli.dashboard.api.words import PLACE
from toolguard_cli.dashboard.problems import Wrong
from toolguard_cli.dashboard.shapes import Change, State
from toolguard_cli.dashboard.visit import Query, Visit
from toolguard_cli.paths import Places

ALL = "all"
WISHES = ("mode", "killSwitch", "checkpoint")
_ONE = f"say one of {', '.join(WISHES)}"


def change(visit: Visit, asked: Change) -> State:
    if sum(each is not None for each in (asked.mode, asked.kill_switch, asked.checkpoint)) != 1:
        raise Wrong(422, "values", _ONE)
    places = gateways.named(visit, asked.gateway).places
    if asked.mode is not None:
        config_set.run(places, "mode", asked.mode, config_change.Options(vouched=True))
    elif asked.kill_switch is not None:
        killswitch.throw(places, "on" if asked.kill_switch else "off", asked.why, PLACE)
    else:
        _refill(places, asked.checkpoint or ALL)
    return state.state(visit, Query())


def _refill(places: Places, session: str) -> None:
    checkpoint.refill(places, checkpoint.Chosen(session="" if session == ALL else session), PLACE)
