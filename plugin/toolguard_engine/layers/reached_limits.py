"""Limits on cost and tokens: at 100% no call runs and the run ends, until the period is over or the limit is raised.

While it is unknown what others have used, `failMode: "closed"` lets only calls run that are read-only, as always. What this
engine itself has counted ends these as well.
"""

from __future__ import annotations

from toolguard_engine.config.settings import Config
from toolguard_engine.config.spending_limits import SpendingCap, shown
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.layers.spending_totals import SpendingTotals
from toolguard_engine.model.call import Stop, Verdict
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.wording import limit_texts

CODE = "limit.reached"
UNKNOWN = "limit.unknown"
NEAR = "limit.near"


def judge(given: LayerInput, _: Judgement) -> Judgement | None:
    if given.spending is None:
        return None
    verdict_of_limit = verdict(given.spending, given.call.agent, given.call.session, given.config)
    if (
        verdict_of_limit is None
        and given.spending.unknown
        and given.config.fail_mode == "closed"
        and not given.reading.reads_only
    ):
        verdict_of_limit = _block(UNKNOWN, limit_texts.unknown(given.spending.unknown), given.config)
    return judgement.wrap(verdict_of_limit, ends=True, free=True) if verdict_of_limit else None


def verdict(
    spending: SpendingTotals, agent: str, session: str, config: Config, model: tuple[str, str] | None = None
) -> Verdict | None:
    """The block of whatever this session does next; None while it may go on. `model`: as in `SpendingTotals.reached`."""
    if config.active_mode == "disabled":
        return None
    reached = spending.reached(agent, session, model)
    return _block(CODE, reason(*reached), config) if reached else None


def reason(cap: SpendingCap, used: float) -> str:
    return limit_texts.reached(cap.words, shown(used, cap.unit), cap.per, cap.raising())


def stop(verdict: Verdict) -> Stop:
    """The end of the run: its answer names the commands."""
    return Stop(verdict.code, verdict.reason, (limit_texts.NAMED,))


def _block(code: str, why: str, config: Config) -> Verdict:
    return Verdict("block", code, limit_texts.blocked(config.approval.prefix, why), why)
