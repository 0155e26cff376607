"""Limits on one run: tool calls that ran, requests to the model, minutes. At 100% no call runs and the run ends; behind the
first result at 80% the model is told once. The next run begins anew.
"""

from __future__ import annotations

from msgspec import UNSET, structs

from toolguard_engine.config.run_limit_settings import MOST, RunLimits
from toolguard_engine.config.settings import Config
from toolguard_engine.config.spending_limits import WARN_SHARE
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.layers.repetition.reaction import Reaction
from toolguard_engine.model.call import Call, Run, Verdict
from toolguard_engine.model.run_counters import DetectorCounters
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.wording import limit_texts

CODE = "limit.run"
NEAR = "limit.run-near"
SOON = 4
"""So many calls before a note is due, results are asked for: others of the same message may come back first."""

SECONDS = 60


class RunUse(DetectorCounters):
    """What a run has taken. `ran`: calls that ran; `first`: the request of its first call; `began`: when that was judged, in
    seconds since 1970, whether or not it ran."""

    ran: int = 0
    first: int = 0
    began: float = 0.0
    near_noted: bool = False

    @property
    def matters(self) -> bool:
        return self.began > 0


def judge(given: LayerInput, _: Judgement) -> Judgement | None:
    run = given.run
    if run is None or not (limits := given.config.run_limits).are_set:
        return None
    for unit, used, most in _uses(run.counters.get(RunUse), given.call, limits):
        if used >= most:
            why = limit_texts.run_reached(unit, most, _setting(given, unit), min(2 * most, MOST))
            text = limit_texts.blocked(given.config.approval.prefix, why)
            return judgement.wrap(Verdict("block", CODE, text, why), ends=True, free=True)
    return None


def _setting(given: LayerInput, unit: str) -> str:
    """The setting that has this limit: the agent's own, or that of all."""
    own = given.config.agents.get(given.call.agent)
    is_own = own is not None and own.run_limits is not UNSET and getattr(own.run_limits, unit) is not UNSET
    return f"agents.{given.call.agent}.runLimits.{unit}" if is_own else f"runLimits.{unit}"


def on_call(call: Call, run: Run) -> None:
    """A call is judged: with the first one the run begins to count."""
    use = run.counters.get(RunUse)
    if not use.began:
        use.first, use.began = call.request, call.at


def on_result(call: Call, run: Run, config: Config, reaction: Reaction, *, asked: bool) -> Reaction:
    """Counts a call that ran. `reaction`: what else follows from it, to which a note may be added if it gets to the model
    (`asked`)."""
    limits = config.run_limits
    if not limits.are_set or not call.run:
        return reaction
    use = run.counters.get(RunUse)
    use.ran += 1
    if not asked or use.near_noted or reaction.stop or not (near := _near(use, call, limits)):
        return reaction
    use.near_noted = True
    unit, used, most = near
    text = limit_texts.run_near(unit, used, most)
    note = "\n\n".join(filter(None, (reaction.note, limit_texts.note(text))))
    return structs.replace(reaction, code=reaction.code or NEAR, note=note, reason=reaction.reason or text)


def may_be_due(call: Call, run: Run, config: Config) -> bool:
    """Whether a note could be due behind the result of this call."""
    limits = config.run_limits
    if not limits.are_set:
        return False
    use = run.counters.get(RunUse)
    ahead = RunUse(use.ran + SOON, use.first, use.began)
    return not use.near_noted and bool(_near(ahead, call, limits))


def _near(use: RunUse, call: Call, limits: RunLimits) -> tuple[str, int, int] | None:
    return next((each for each in _uses(use, call, limits) if each[1] >= WARN_SHARE * each[2]), None)


def _uses(use: RunUse, call: Call, limits: RunLimits) -> list[tuple[str, int, int]]:
    """Each limit that is set: its unit, what is used of it, and its amount."""
    began, first = use.began or call.at, use.first or call.request
    uses = [
        ("calls", use.ran, limits.calls),
        ("requests", call.request - first, limits.requests),
        ("minutes", int((call.at - began) / SECONDS), limits.minutes),
    ]
    return [each for each in uses if each[2]]
