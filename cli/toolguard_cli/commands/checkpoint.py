"""`toolguard checkpoint`: a person has looked, so the budgets are full again."""

from __future__ import annotations

import secrets
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from msgspec import structs

from toolguard_cli import budgets, held, inside, stores
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers
from toolguard_engine.autonomy import Autonomy, means
from toolguard_engine.config import BudgetConfig, Config
from toolguard_engine.standing import Key, Standing, place_in
from toolguard_engine.stores import audit
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.standings import FileStandings

COUNTED = Config(budget=BudgetConfig(mode="enforce"))
"""A person's word counts for every agent, whatever the settings make of its budget."""


@dataclass(frozen=True)
class Chosen:
    """Which standings; without any name all that were used. `exact`: the one of both names, be they empty."""

    agent: str = ""
    session: str = ""
    exact: bool = False

    def means(self, standing: Standing) -> bool:
        if self.exact:
            return standing.key == (self.agent, place_in(self.session))
        if self.agent and standing.agent != self.agent:
            return False
        return not self.session or standing.session == place_in(self.session)

    @property
    def words(self) -> str:
        named = [("agent", self.agent), ("session", self.session)]
        parts = [f"{what} {name}" for what, name in named if name or self.exact]
        return answers.cut(answers.plain(" in ".join(parts)), 160)


def run(places: Places, chosen: Chosen, *, dry_run: bool) -> Result:
    inside.refuse(places, "checkpoint", loosens=not dry_run)
    changed, more = refill(places, chosen, "cli", dry_run=dry_run)
    config = budgets.settings(places)
    lines = [Line("ok", _told(before, after, config, dry_run=dry_run)) for before, after in changed]
    if not changed:
        lines = [Line("ok", "no budget was used since the last checkpoint: nothing to refill")]
    lines += more
    data = [{**budgets.data(after, config), "leftBefore": budgets.left(before, config)} for before, after in changed]
    return Result("checkpoint", {"dryRun": dry_run, "changed": data}, tuple(lines))


def refill(
    places: Places, chosen: Chosen, where: str, *, dry_run: bool = False
) -> tuple[list[tuple[Standing, Standing]], list[Line]]:
    """Those that were used, before and after, and what else there is to say. Raises `UserError`."""
    if held.never_been(places):
        raise UserError(held.nowhere(places), "name the state directory of your gateway; toolguard doctor looks at it")
    change, store = partial(_refilled, chosen, time.time()), FileStandings(places.state_dir, patient=True)
    with stores.told(), closing(store):
        known = store.look()
        _refuse_unknown(chosen, known)
        if dry_run:
            return [(each, after) for each in known if (after := change(each)) is not None], []
        changed = store.checkpoint(change)
    if not changed:
        return [], []
    logged = _logged(places, chosen, changed, where)
    return changed, [*logged, *_lapsed(places, [after.key for _, after in changed], where)]


def _lapsed(places: Places, keys: list[Key], where: str) -> list[Line]:
    """Held calls that waited for the checkpoint wait no more. The budget is full, even if they cannot be closed."""
    try:
        closed = stores.nonces(places).lapse(means(keys), stores.decision("", where), time.time())
    except StoreError as error:
        return [Line("warn", answers.plain(f"{answers.NOT_LAPSED}: {error}"))]
    return [Line("ok", answers.lapsed(closed))] if closed else []


def _refilled(chosen: Chosen, now: float, standing: Standing) -> Standing | None:
    """As the engine does it. None for one that is not meant, or of which nothing was used."""
    if not chosen.means(standing) or not (standing.spent > 0 or standing.told or chosen.words):
        return None
    after, one = structs.replace(standing), Autonomy()
    one.remember([after])
    one.checkpoint(standing.session, now, COUNTED)
    return after


def _refuse_unknown(chosen: Chosen, known: list[Standing]) -> None:
    if chosen.words and not any(map(chosen.means, known)):
        raise UserError(f"no budget is known of {chosen.words}", "toolguard status names those that were used")


def _told(before: Standing, after: Standing, config: Config, *, dry_run: bool) -> str:
    would = "would refill the " if dry_run else ""
    return (
        f"{would}budget of {budgets.name(after)}: {budgets.left(before, config):.2f} was left, "
        f"{budgets.left(after, config):.2f} is now; trust {before.trust:.2f}, now {after.trust:.2f}"
    )


def _logged(places: Places, chosen: Chosen, changed: list[tuple[Standing, Standing]], where: str) -> list[Line]:
    """A budget that is full stays so, even if that cannot be written down."""
    many = f"{len(changed)} budget{'' if len(changed) == 1 else 's'} full again"
    line = audit.Event(
        id=secrets.token_hex(8),
        time=audit.when(time.time()),
        event="checkpoint",
        code="budget.checkpoint",
        agent=answers.plain(chosen.agent),
        session=audit.plain(chosen.session),
        by=stores.who(),
        where=where,
        reason=f"checkpoint: {many}",
    )
    try:
        audit.AuditLog(places.state_dir).append([line])
    except StoreError as error:
        return [Line("warn", answers.plain(f"this could not be written to the audit log: {error}"))]
    return []
