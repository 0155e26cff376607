"""The guard: events of a gateway in, verdicts and corrections out. No clock, no file, no process in here.

One call goes through `LAYERS` in their order; the first verdict wins. What the guard remembers is per run, and bounded:
`MAX_RUNS` runs, the least recently used forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from toolguard_engine import texts
from toolguard_engine.config import Config
from toolguard_engine.failures import classify
from toolguard_engine.layers import exemptions, loops
from toolguard_engine.model import ALLOW, Call, Correction, Failure, Run, Verdict
from toolguard_engine.toolsearch import is_envelope, look_through

LAYERS = (exemptions.judge, loops.judge)
MAX_RUNS = 2_000


@dataclass(frozen=True, slots=True)
class Refusal:
    """A malformed call, why it was refused, and what the model is told. In shadow mode the telling is left out."""

    call: Call
    failure: Failure
    correction: Correction


class Guard:
    """Owns the state of all runs of one gateway."""

    def __init__(self, config: Config, hints: texts.Hints) -> None:
        self._config = config
        self._hints = hints
        self._runs: OrderedDict[str, Run] = OrderedDict()

    def config_for(self, agent: str) -> Config:
        return self._config.for_agent(agent)

    def judge(self, call: Call) -> Verdict:
        """Whether this call may run. In shadow mode it may, under the code that would have stopped it."""
        config = self.config_for(call.agent)
        run = self._runs.get(call.run)
        for layer in LAYERS:
            verdict = layer(call, run, config)
            if verdict is not None:
                return _shadowed(verdict) if config.active_mode == "shadow" else verdict
        return ALLOW

    def failed(self, call: Call, text: str, *, judged: bool, missed: int = 0) -> Refusal | None:
        """A call came back with an error. None where it was executed, or is nobody's business (mode `disabled`)."""
        config = self.config_for(call.agent)
        if config.active_mode == "disabled":
            return None
        failure = classify(call.tool, call.params, text, judged=judged)
        if failure is None:
            return None
        inner = inner_call(call)
        return Refusal(inner, failure, loops.on_failure(inner, failure, self._run(call.run), config, self._hints, missed))

    def succeeded(self, call: Call) -> None:
        """A call was executed without an error."""
        run = self._runs.get(call.run)
        if run:
            loops.on_success(inner_call(call), run)

    def message(self, run_id: str, agent: str, calls: list[Call]) -> list[Refusal]:
        """The model has answered with these calls. Where the run ends before they run: one refusal for each of them."""
        run = self._runs.get(run_id)
        config = self.config_for(agent)
        if run is None or config.active_mode == "disabled":
            return []
        inner = [inner_call(call) for call in calls]
        stop = loops.on_message(inner, run, config)
        if stop is None:
            return []
        correction = Correction("stopped", stop.text, stop)
        return [Refusal(call, loops.known_failure(call, run), correction) for call in inner]

    def ended(self, run_id: str) -> None:
        """The run is over: forget it."""
        self._runs.pop(run_id, None)

    def _run(self, run_id: str) -> Run:
        if not run_id:
            return Run()  # a call of no known run: what failed before it cannot be told from what others did
        run = self._runs.setdefault(run_id, Run())
        self._runs.move_to_end(run_id)
        while len(self._runs) > MAX_RUNS:
            self._runs.popitem(last=False)
        return run


def inner_call(call: Call) -> Call:
    """The call that really runs: looked through Tool Search."""
    tool, params = look_through(call.tool, call.params)
    return Call(
        tool=tool,
        params=params,
        searched=is_envelope(call.tool, call.params),
        agent=call.agent,
        session=call.session,
        run=call.run,
        call_id=call.call_id,
        request=call.request,
    )


def _shadowed(verdict: Verdict) -> Verdict:
    return verdict if verdict.decision == "allow" else Verdict("allow", f"shadow.{verdict.code}")
