"""Refills risk budgets after a review: for `toolguard checkpoint` and the dashboard."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from msgspec import structs

from toolguard_cli.approvals import budgets, held_calls
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.person import require_human
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.standing import Key, Standing, place_in
from toolguard_engine.config.settings import BudgetConfig, Config
from toolguard_engine.layers.autonomy.agent_standings import Autonomy, means
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

COUNTED = Config(budget=BudgetConfig(mode="enforce"))
"""A checkpoint applies to every agent, whatever its budget mode."""


@dataclass(frozen=True)
class Chosen:
    """Which standings; without a name, all that were used. `exact`: the one with exactly these names, even if empty."""

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
        return printable.cut(printable.plain(" in ".join(parts)), 160)


def run(places: Places, chosen: Chosen, *, dry_run: bool) -> Result:
    caller, config = require_human.caller(places, "checkpoint", loosens=not dry_run), budgets.settings(places)
    if caller.doubt:
        wanted, _ = refill(places, chosen, "cli", dry_run=True)
        caller.require([_refill_line(before, after, config, dry_run=True) for before, after in wanted])
    changed, more = refill(places, chosen, "cli", dry_run=dry_run)
    lines = [Line("ok", _refill_line(before, after, config, dry_run=dry_run)) for before, after in changed]
    if not changed:
        lines = [Line("ok", "no budget was used since the last checkpoint: nothing to refill")]
    lines += more
    data = [{**budgets.data(after, config), "leftBefore": budgets.left(before, config)} for before, after in changed]
    return Result("checkpoint", {"dryRun": dry_run, "changed": data}, tuple(lines))


def refill(
    places: Places, chosen: Chosen, where: str, *, dry_run: bool = False
) -> tuple[list[tuple[Standing, Standing]], list[Line]]:
    """The used standings before and after, and further lines. Raises `UserError`."""
    held_calls.refuse_nowhere(places)
    change, store = partial(_refilled, chosen, time.time()), stores.standings(places.state_dir, patient=True)
    with gateway_stores.user_errors(), closing(store):
        known = store.look()
        _refuse_unknown(chosen, known)
        wanted = [(standing, after) for standing in known if (after := change(standing)) is not None]
        if dry_run or not wanted:
            return wanted, []
        logged = _logged(places, chosen, len(wanted), where)  # before calls can run that waited for it
        changed = store.checkpoint(change)
    return changed, [*logged, *_lapsed(places, [after.key for _, after in changed], where)]


def _logged(places: Places, chosen: Chosen, count: int, where: str) -> list[Line]:
    """A line in the audit log; the answer is a warning where that fails."""
    many = f"{count} budget{'' if count == 1 else 's'} refilled"
    line = gateway_stores.event(
        "checkpoint",
        where=where,
        code="budget.checkpoint",
        agent=printable.plain(chosen.agent),
        session=audit_log.plain(chosen.session),
        reason=f"checkpoint: {many}",
    )
    return [Line("warn", text) for text in gateway_stores.logged(places, line)]


def _lapsed(places: Places, keys: list[Key], where: str) -> list[Line]:
    """Closes held calls that waited for the checkpoint. The budget stays full even if that fails."""
    try:
        closed = gateway_stores.nonces(places).lapse(means(keys), gateway_stores.decision("", where), time.time())
    except (StoreError, UserError) as error:
        return [Line("warn", printable.plain(f"{replies.NOT_LAPSED}: {error}"))]
    return [Line("ok", replies.lapsed(closed))] if closed else []


def _refilled(chosen: Chosen, now: float, standing: Standing) -> Standing | None:
    """The refilled standing, as the engine computes it; None if it is not chosen or unused."""
    if not chosen.means(standing) or not (standing.spent > 0 or standing.reported or chosen.words):
        return None
    after, one = structs.replace(standing), Autonomy()
    one.remember([after])
    one.checkpoint(standing.session, now, COUNTED)
    return after


def _refuse_unknown(chosen: Chosen, known: list[Standing]) -> None:
    if chosen.words and not any(map(chosen.means, known)):
        raise UserError(f"there is no budget for {chosen.words}", "toolguard status lists the used budgets")


def _refill_line(before: Standing, after: Standing, config: Config, *, dry_run: bool) -> str:
    would = "would refill the " if dry_run else ""
    return (
        f"{would}budget of {budgets.name(after)}: {budgets.left(before, config):.2f} left, "
        f"now {budgets.left(after, config):.2f}; trust {before.trust:.2f}, now {after.trust:.2f}"
    )
