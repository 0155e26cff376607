"""What a person changes about a gateway: its mode, its kill switch, its budgets, and which settings are accepted."""

from __future__ import annotations

from msgspec import structs

from toolguard_cli import stores, weakenings
from toolguard_cli.commands import checkpoint, killswitch
from toolguard_cli.commands.config import change as config_change
from toolguard_cli.commands.config import set as config_set
from toolguard_cli.dashboard import gateways
from toolguard_cli.dashboard.api import state
from toolguard_cli.dashboard.api.words import PLACE
from toolguard_cli.dashboard.problems import Wrong
from toolguard_cli.dashboard.shapes import Change, Refill, State
from toolguard_cli.dashboard.visit import Query, Visit
from toolguard_cli.paths import Places
from toolguard_cli.result import Line
from toolguard_engine.stores.accepted import mark

TOLD = ("warn", "error")
"""Lines of the commands that say more than that it was done."""
WISHES = ("mode", "killSwitch", "checkpoint", "accept")
_ONE = f"say one of {', '.join(WISHES)}"


def change(visit: Visit, asked: Change) -> State:
    if sum(each is not None for each in (asked.mode, asked.kill_switch, asked.checkpoint, asked.accept)) != 1:
        raise Wrong(422, "values", _ONE)
    places = gateways.named(visit, asked.gateway).places
    if asked.mode is not None:
        lines = list(config_set.run(places, "mode", asked.mode, config_change.Options(vouched=True, where=PLACE)).lines)
    elif asked.kill_switch is not None:
        lines = _switch(places, asked.why, on=asked.kill_switch)
    elif asked.accept is not None:
        lines = _accept(places, asked.accept, asked.why)
    else:
        lines = _refill(places, asked.checkpoint or Refill())
    notes = [line.text for line in lines if line.kind in TOLD]
    return structs.replace(state.state(visit, Query()), notes=notes)


def _switch(places: Places, why: str, *, on: bool) -> list[Line]:
    _, lines = killswitch.throw(places, "on" if on else "off", why, PLACE)
    return [*lines, *(killswitch.unguarded(places) if on else [])]


def _accept(places: Places, seen: str, why: str) -> list[Line]:
    """What the page showed, all of it; where something else is weaker by now nothing is accepted."""
    with stores.told():
        found = weakenings.found(places)
        if mark(found) != seen:
            raise Wrong(409, "changed", "something else became weaker meanwhile", "look at it again, then accept")
        weakenings.accept(places, found, stores.decision(why, PLACE))
    return []


def _refill(places: Places, whose: Refill) -> list[Line]:
    chosen = checkpoint.Chosen() if whose.all else checkpoint.Chosen(whose.agent, whose.session, exact=True)
    return checkpoint.refill(places, chosen, PLACE)[1]
